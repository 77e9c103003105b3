"""Failovers step by step: out of a built history, whose instants are known, with lines missing or otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.history.read import open_history
from chaoskafka.timing.phases import FULL_BEFORE, NOT_READ, NOT_SEEN, phases
from chaoskafka.timing.times import Interval, PhaseTime
from tests.histories.builder import build
from tests.histories.copy import Copy
from tests.histories.shape import MS, VICTIM, Shape

SHAPE = Shape(partitions=2)
ELECTED_S = SHAPE.elect_s - 0.01  # when the builder's controller decides


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Nobody alters this one."""
    return Copy.at(build(tmp_path_factory.mktemp("built") / "run", SHAPE))


@pytest.fixture
def run(built: Copy, tmp_path: Path) -> Copy:
    return built.into(tmp_path / "run")


def found(run: Copy, phase: str) -> list[PhaseTime]:
    return [row for row in phases(open_history(run.run_dir)) if row.phase == phase]


def one(run: Copy, phase: str, subject: str = "") -> PhaseTime:
    (row,) = [row for row in found(run, phase) if subject in row.subject]
    return row


def around(interval: Interval | None, lo_s: float, hi_s: float) -> bool:
    return interval is not None and interval.lo_s == pytest.approx(lo_s) and interval.hi_s == pytest.approx(hi_s)


def alter(run: Copy, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    run.lines("observations.jsonl", change)


def without(run: Copy, kind: str) -> None:
    alter(run, lambda row: None if row["kind"].startswith(kind) else row)


def word(run: Copy, name: str, **parameters: Any) -> None:
    """Another fault, of which the controllers made the same."""
    run.lines("events.jsonl", lambda row: row | {"word": name} if row["event"] == "fault" else row)
    run.header(plan=({"fault": 0, "word": name, **parameters},))


def test_the_decision_is_the_batchs_own_time_and_the_linger_after_it(run: Copy) -> None:
    detect = one(run, "detect")
    assert (detect.scope, detect.subject, detect.fault) == ("broker", "broker 1", 0)
    assert around(detect.took, ELECTED_S, ELECTED_S + 0.006)  # linger of 5 ms, and the millisecond of the stamp
    assert detect.at == detect.took
    assert (detect.bound, detect.dominated_by) == (Interval(lo_s=1.5, hi_s=2.25), "broker.session.timeout.ms")
    assert detect.note is None


def test_the_arrival_bounds_it_where_the_linger_is_not_known(run: Copy) -> None:
    settings = {n: {"broker.session.timeout.ms": "2000"} for n in run.history.header.broker_settings}
    run.header(broker_settings=settings)
    detect = one(run, "detect")
    assert around(detect.took, ELECTED_S, ELECTED_S + 0.009)
    assert detect.bound is None
    assert "not known" in (detect.note or "")


def test_each_step_of_a_partition_whose_leader_was_hit(run: Copy) -> None:
    elect = one(run, "elect")
    assert (elect.subject, elect.bound) == ("orders/0", Interval(lo_s=1.5, hi_s=2.25))
    commit = one(run, "commit")
    assert (commit.since, commit.until) == ("elect", "below the high watermark")
    assert around(commit.took, 0.0, 0.012)
    assert around(commit.at, ELECTED_S, ELECTED_S + 0.012)
    assert around(commit.bound, 0.0, 0.105)
    applied = found(run, "propagate")
    assert [row.subject for row in applied] == ["orders/0, broker 2", "orders/0, broker 3"]
    assert around(applied[0].took, 0.0, 0.018)
    assert around(applied[1].took, 0.003, 0.021)
    redirected = found(run, "redirect")
    assert [row.subject for row in redirected] == [
        f"orders/0, {who}" for who in ("producer 1", "producer 2", "group readers")
    ]
    for row in redirected:
        assert row.took is not None
        assert 0.0 < row.took.lo_s < row.took.hi_s < 0.2
        assert row.bound == Interval(lo_s=0.0, hi_s=2.5)


def test_steps_that_come_after_the_healing_count_from_it(run: Copy) -> None:
    for row in found(run, "in_sync"):
        assert row.since == "healing begins"
        assert around(row.took, SHAPE.heal_s + 0.29, SHAPE.heal_s + 0.296)
    assert [row.subject for row in found(run, "in_sync")] == ["orders/0", "orders/1"]
    assert len(found(run, "shrink")) == 2
    assert found(run, "home") == [], "nobody asked for it"


def in_sync_set(run: Copy, at_ns: int, isr: list[int]) -> None:
    """The controllers' log says so too, of the first partition."""
    lines = [json.loads(line) for line in (run.run_dir / "observations.jsonl").read_text().splitlines()]
    rows = [row for row in lines if row["kind"] == "log_partition" and row["partition"] == 0]
    at = next(at for at, row in enumerate(lines) if row["lo_ns"] > at_ns and row["kind"].startswith("log_"))
    last = max(row["offset"] for row in lines[:at] if row.get("kind") == "log_partition")
    more = rows[1] | {"isr": isr, "lo_ns": at_ns, "hi_ns": at_ns + MS, "offset": last, "last_offset": last}
    told = [*lines[:at], more, *lines[at:]]
    (run.run_dir / "observations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told))


def test_a_set_that_was_full_in_between_is_not_yet_full_again(run: Copy) -> None:
    in_sync_set(run, SHAPE.elected_ns + 100 * MS, [1, 2, 3])
    in_sync_set(run, SHAPE.elected_ns + 200 * MS, [2, 3])
    row = one(run, "in_sync", "orders/0")
    assert around(row.took, SHAPE.heal_s + 0.29, SHAPE.heal_s + 0.296)


def test_a_set_that_was_full_all_through_the_healing_has_no_figure(run: Copy) -> None:
    in_sync_set(run, SHAPE.elected_ns + 100 * MS, [1, 2, 3])
    row = one(run, "in_sync", "orders/0")
    assert (row.took, row.at, row.note) == (None, None, FULL_BEFORE)


def test_brokers_that_are_stopped_at_the_end_leave_the_set_and_change_no_figure(run: Copy) -> None:
    in_sync_set(run, SHAPE.recovered_ns + 1000 * MS, [3])
    row = one(run, "in_sync", "orders/0")
    assert around(row.took, SHAPE.heal_s + 0.29, SHAPE.heal_s + 0.296)


def test_gaps_stand_beside_their_resolution(run: Copy) -> None:
    rows = found(run, "unavailable")
    assert len(rows) == 2 * 3
    assert all(row.resolution_s is not None and row.resolution_s > 0 for row in rows)


def test_nobody_read_the_log(run: Copy) -> None:
    without(run, "log_")
    for phase in ("detect", "elect"):
        row = one(run, phase)
        assert (row.took, row.at, row.note) == (None, None, NOT_READ)
        assert row.bound is not None, "what was to be expected is known all the same"
    assert found(run, "commit") == found(run, "propagate") == []
    assert len(found(run, "unavailable")) == 6


def test_a_log_on_another_clock_is_no_log(run: Copy) -> None:
    alter(run, lambda row: row | {"clock": "another"} if row["kind"] == "started" else row)
    assert one(run, "detect").note == NOT_READ


def test_what_was_not_seen_is_not_guessed(run: Copy) -> None:
    alter(run, lambda row: None if row["kind"] == "log_committed" or row["kind"] == "epoch" else row)
    assert (one(run, "commit").took, one(run, "commit").note) == (None, NOT_SEEN)
    assert {row.note for row in found(run, "propagate")} == {NOT_SEEN}
    alter(run, lambda row: None if row["kind"] == "log_broker" and row["lo_ns"] > SHAPE.acted_ns else row)
    assert (one(run, "detect").took, one(run, "detect").note) == (None, NOT_SEEN)


def test_what_an_earlier_controller_wrote_and_the_next_one_did_not_have_is_left_out(run: Copy) -> None:
    """A leader of the quorum that is cut off writes on: its records are cut again, and its fence was none."""
    lines = [json.loads(line) for line in (run.run_dir / "observations.jsonl").read_text().splitlines()]
    fence = next(row for row in lines if row["kind"] == "log_broker" and row["lo_ns"] > SHAPE.acted_ns)
    first = next(row for row in lines if row.get("last_offset") == fence["last_offset"])
    early = {**fence, "lo_ns": SHAPE.acted_ns + MS, "hi_ns": SHAPE.acted_ns + 2 * MS}
    cut = {
        "kind": "log_cut",
        "lo_ns": 1,
        "hi_ns": SHAPE.acted_ns + 5 * MS,
        "offset": fence["offset"],
        "quorum_epoch": 2,
    }
    at = lines.index(first)
    renewed = [row | {"quorum_epoch": 2} if row["kind"].startswith("log_") else row for row in lines[at:]]
    told = [*lines[:at], early, cut, *renewed]
    (run.run_dir / "observations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told))
    assert around(one(run, "detect").took, ELECTED_S, ELECTED_S + 0.006)


def test_a_new_controller_is_a_row_of_its_own_and_everything_later_by_its_election(run: Copy) -> None:
    run.event("fault", "active", evidence={"active_controller": VICTIM})
    alter(run, lambda row: row | {"controller": VICTIM} if row["kind"] == "log_leader" else row)
    row = one(run, "controller")
    assert (row.scope, row.subject, row.took, row.note) == ("quorum", "quorum", None, NOT_SEEN)
    lines = (run.run_dir / "observations.jsonl").read_text()
    new = {"kind": "log_leader", "controller": 3, "offset": 5, "last_offset": 5, "quorum_epoch": 2, "by": 3}
    new |= {"lo_ns": SHAPE.acted_ns + 1100 * MS, "hi_ns": SHAPE.acted_ns + 1130 * MS}
    (run.run_dir / "observations.jsonl").write_text(lines + json.dumps(new) + "\n")
    row = one(run, "controller")
    assert row.subject == "controller 3"
    assert around(row.took, 1.1, 1.106)
    assert (row.bound, row.dominated_by) == (Interval(lo_s=0.5, hi_s=3.0), "controller.quorum.fetch.timeout.ms")
    assert one(run, "detect").bound == Interval(lo_s=2.5, hi_s=5.25), "the new one gives every broker a fresh lease"


def test_a_fault_that_is_to_cause_no_election_has_no_detection(run: Copy) -> None:
    word(run, "cut_clients")
    alter(
        run,
        lambda row: None if row["kind"] in ("log_partition", "log_broker") and row["lo_ns"] > SHAPE.acted_ns else row,
    )
    assert found(run, "detect") == found(run, "elect") == found(run, "shrink") == []


def test_brokers_that_are_parted_from_each_other_only_shrink_the_in_sync_set(run: Copy) -> None:
    word(run, "partition", planes=["replication"], shape="rest", against=None, ways="both")
    assert found(run, "detect") == []
    for row in found(run, "shrink"):
        assert (row.bound, row.dominated_by) == (Interval(lo_s=6.0, hi_s=9.0), "replica.lag.time.max.ms")
    without(run, "log_partition")
    assert found(run, "shrink") == [], "nothing is known of how it was before"


def test_a_clean_stop_is_detected_by_its_own_record(run: Copy) -> None:
    word(run, "stop")

    def stopping(row: dict[str, Any]) -> dict[str, Any]:
        is_fence = row["kind"] == "log_broker" and SHAPE.acted_ns < row["lo_ns"] < SHAPE.healing_ns
        return row | {"fenced": False, "stopping": True} if is_fence else row

    alter(run, stopping)
    row = one(run, "detect")
    assert around(row.took, ELECTED_S, ELECTED_S + 0.006)
    assert (row.bound, row.dominated_by) == (Interval(lo_s=0.0, hi_s=0.5), "broker.heartbeat.interval.ms")
    assert one(run, "inject").took == row.took, "it bites when it is granted, not when the process has ended"


def test_faults_at_once_have_times_and_no_bounds(run: Copy) -> None:
    lines = [json.loads(line) for line in (run.run_dir / "events.jsonl").read_text().splitlines()]
    second = [
        row | {"fault": 1} | ({"targets": [2]} if "targets" in row else {}) for row in lines if row["event"] == "fault"
    ]
    (run.run_dir / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*lines, *second]))
    detect = [row for row in found(run, "detect") if row.fault == 0]
    assert [row.bound for row in detect] == [None]
    assert detect[0].took is not None
    assert "another fault" in (detect[0].note or "")
