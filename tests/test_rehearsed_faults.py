"""Each fault, and each way of combining them, in a whole run on the fake runtime: seen to bite, to heal, and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.clock import NS_PER_S
from chaoskafka.errors import ExitCode
from chaoskafka.history.events import FaultWindow, fault_windows, read_events
from tests.rehearsals import hurry, rehearse

pytestmark = pytest.mark.slow

HEAD = """\
topics: {orders: {partitions: 2}}
workloads:
  - produce: {topic: orders, rate_per_s: 400, message_bytes: 60}
  - consume: {topic: orders, commit_every_s: 0.05}
plan:
"""


def test_what_a_person_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    plan = """\
  - {after_s: 0, stop: {target: leader of orders/0, for_s: 0.1}}
  - {after_s: 0, restart: {target: "leader of orders/0"}}
  - {after_s: 0, crash_loop: {target: leader of orders/0, times: 2, up_s: 0.02}}
  - {after_s: 0, move_leader: {topic: orders, partition: 0}}
  - {after_s: 0, move_leader: {topic: orders, to: preferred}}
  - {after_s: 0, rolling_restart: {}}
  - {after_s: 0, rolling_restart: {gate: time, every_s: 0}}
"""
    played = rehearse(tmp_path, text=HEAD + plan)
    assert [check for check in played.result.checks if check.answer != "pass"] == []
    assert played.exit_code is ExitCode.PASS
    assert [fault.word for fault in played.result.faults if fault.window_s is not None] == [
        "stop", "restart", "crash_loop", "move_leader", "move_leader", "rolling_restart", "rolling_restart",
    ]  # fmt: skip


def test_who_alone_is_in_sync_and_who_coordinates_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    plan = """\
  - {after_s: 0, kill: {target: "transaction coordinator of tx-1", for_s: 0.1}}
  - {after_s: 0, kill: {target: "last in-sync replica of alone/0", for_s: 0.1}}
"""
    head = HEAD.replace("}}\n", "}, alone: {partitions: 1, replication_factor: 1, min_insync_replicas: 1}}\n", 1)
    played = rehearse(tmp_path, text=head + plan)
    first, second = windows_of(played.run_dir)
    assert list(first.targets) == [first.evidence["transactions"]["tx-1"]]
    assert second.evidence["partitions"]["alone/0"]["isr"] == list(second.targets)
    assert played.exit_code is ExitCode.PASS


def windows_of(run_dir: Path) -> list[FaultWindow]:
    return fault_windows(read_events(run_dir / "events.jsonl"))


def test_faults_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    plan = """\
  - place: {leader_of: orders/0, on: broker 2}
  - after_s: 0
    together:
      - kill: {target: broker 2, for_s: 0.3}
      - sequence:
          - {after_s: 0, stop: {target: broker 1, for_s: 0.1}}
          - {after_s: 0.01, kill: {target: broker 1, for_s: 0.1}}
  - {after_s: 0, flap: {kill: {target: broker 3}, times: 2, down_s: 0.1, up_s: 0.05}}
  - repeat: {times: 2, steps: [{after_s: 0, stop: {target: leader of orders/0, for_s: 0.1}}, {after_s: 0, restart: {target: any}}]}
  - {after_s: 0, random: {times: 2, faults: [{kill: {for_s: 0.1}}, {stop: {for_s: 0.1}}], targets: [broker 1, leader of orders/1]}}
  - {after_s: 0, kill: {target: leader of orders/0, until: leader_changed}}
  - {after_s: 0, no_wait: true, stop: {target: broker 1, until: {fenced, within_s: 9}}}
  - {after_s: 0, when: recovered, kill: {target: broker 2, until: {isr_is: 2, of: orders/0}}}
  - {after_s: 0, when: quorum_caught_up, restart: {target: broker 2}}
"""  # noqa: E501 - one item a line
    played = rehearse(tmp_path, text=HEAD + plan)
    assert [check for check in played.result.checks if check.answer != "pass"] == []
    assert played.exit_code is ExitCode.PASS
    words = [(fault.index, fault.word) for fault in played.result.faults if fault.window_s is not None]
    pair, drawn = ["stop", "restart"] * 2, [fault.word for fault in played.result.faults[9:11]]
    expected = ["kill", "stop", "kill", "kill", "kill", *pair, *drawn, "kill", "stop", "kill", "restart"]
    assert words == list(enumerate(expected))
    first, second, *_ = windows_of(played.run_dir)
    assert abs(first.acted_ns - second.acted_ns) < NS_PER_S  # type: ignore[operator]
    overlaps = [fault.overlaps for fault in played.result.faults]
    assert 1 in overlaps[0]
    assert (overlaps[1], overlaps[3]) == ((0,), ())


def test_what_is_drawn_and_finds_no_target_is_skipped_told_and_leaves_the_run_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    plan = """\
  - after_s: 0
    random: {times: 1, faults: [kill: {for_s: 0.1}], targets: ["leader of orders/0, follower of orders/0"]}
  - {after_s: 0, kill: {target: leader of orders/0, for_s: 0.1}}
"""
    played = rehearse(tmp_path, text=HEAD + plan)
    assert played.exit_code is ExitCode.UNKNOWN
    skipped, other = windows_of(played.run_dir)
    states = [e.fields["state"] for e in read_events(played.run_dir / "events.jsonl") if e.fields.get("fault") == 0]
    assert states == ["beginning", "skipped"]
    assert skipped.failure is not None
    assert "fits nobody" in skipped.failure
    assert other.healed_ns is not None, "the plan goes on"
    took_effect = next(check for check in played.result.checks if check.word == "took_effect")
    assert (took_effect.answer, took_effect.counted) == ("unknown", 2)
    assert "fits nobody" in took_effect.summary
    assert any(note.startswith("kill: skipped: ") for note in played.notes)


def test_a_condition_that_does_not_come_heals_the_fault_and_is_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    plan = """\
  - {after_s: 0, kill: {target: leader of orders/0, until: {isr_is: 0, of: orders/0, within_s: 0.2}}}
  - {after_s: 0, kill: {target: leader of orders/0, for_s: 0.1}}
"""
    played = rehearse(tmp_path, text=HEAD + plan)
    assert played.exit_code is ExitCode.UNKNOWN
    (fault,) = windows_of(played.run_dir)
    assert fault.healed_ns is not None
    (condition,) = [e.fields for e in read_events(played.run_dir / "events.jsonl") if e.event == "condition"]
    assert (condition["state"], condition["condition"], condition["within_s"]) == (
        "expired",
        "isr_is 0 of orders/0",
        0.2,
    )
    completed = next(check for check in played.result.checks if check.word == "completed")
    assert completed.answer == "unknown"
    assert "waited 0.2 s for isr_is 0 of orders/0; last saw orders/0 has" in completed.summary


def test_leadership_is_placed_where_it_is_not_yet_and_left_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    plan = """\
  - place: {leader_of: orders/0, on: not active controller}
  - place: {leader_of: orders/0, on: broker 2}
  - place: {leader_of: orders/0, on: broker 2}
  - {after_s: 0, kill: {target: "leader of orders/0, broker 2", for_s: 0.1}}
"""
    played = rehearse(tmp_path, text=HEAD + plan)
    assert played.exit_code is ExitCode.PASS
    ends = [e.fields for e in read_events(played.run_dir / "events.jsonl") if e.event == "place"][1::2]
    assert [end["moved"] and end["moved"]["orders/0"]["to"] for end in ends][1:] == [2, None]
    assert [end["evidence"]["chosen"] for end in ends][1:] == [[2], [2]]


def test_of_those_that_strike_together_none_does_when_one_has_no_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    plan = """\
  - after_s: 0
    together:
      - kill: {target: broker 1, for_s: 0.1}
      - kill: {target: "leader of orders/0, follower of orders/0", for_s: 0.1}
"""
    played = rehearse(tmp_path, text=HEAD + plan)
    assert played.exit_code is ExitCode.UNKNOWN
    assert all(fault.acted_ns is None for fault in windows_of(played.run_dir))
    said = [event.fields["text"] for event in read_events(played.run_dir / "events.jsonl") if event.event == "error"]
    assert len(said) == 1
    assert "fits nobody" in said[0]
    assert "did not come to it" in said[0]
