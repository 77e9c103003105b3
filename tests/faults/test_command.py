"""A command of somebody else's, a real process, over a cluster in memory that does what the command's files say."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from chaoskafka.clock import MonotonicClock, wait_until
from chaoskafka.cluster.conditions import Condition
from chaoskafka.cluster.spec import TopicSpec
from chaoskafka.errors import FaultFailed, Interrupted
from chaoskafka.faults import command, has_window
from chaoskafka.faults.command import OUTPUT_KEPT_BYTES, Command
from tests.faults.stand import Stand
from tests.memory_cluster import MemoryCluster

FENCED = Condition.parse("fenced")
MOVED = Condition.parse({"leader_changed": "orders/1"})


def stand(tmp_path: Path, clock: MonotonicClock | None = None) -> Stand:
    """Broker 2 is fenced, and leads nothing, while the file `down` is there."""
    made = Stand(clock=clock or MonotonicClock())  # type: ignore[arg-type]

    def look(cluster: MemoryCluster) -> None:
        down = (tmp_path / "down").exists()
        if down:
            (tmp_path / "seen").touch()
        cluster.fenced = {2} if down else set()
        cluster.led = {("orders", 1): (3, 1)} if down else cluster.led

    made.trouble["ask_all"] = look
    made.cluster.topics = {"orders": TopicSpec(partitions=3)}
    return made


def shell(tmp_path: Path, script: str) -> tuple[str, ...]:
    wait = "until [ -e seen ]; do sleep 0.01; done"  # for somebody to look
    return "sh", "-c", f"cd '{tmp_path}' || exit 1\n{script.replace('$seen', wait)}"


def test_it_is_an_action_that_needs_no_ability() -> None:
    fault = Command(run=("true",), bites_when=FENCED)
    assert not has_window(fault)
    assert (fault.needs, str(fault.heals_when)) == ((), "recovered")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"run": ()}, "run: expected a command"),
        ({"run": ("",)}, "run: expected a command"),
        ({"run": ("a\0b",)}, "run: expected a command"),
        ({"run_s": 0}, "run_s"),
        ({"settle_s": -1}, "settle_s"),
        ({"bites_when": Condition.parse("leader_changed")}, "bites_when: leader_changed takes a partition"),
        ({"bites_when": Condition.parse("recovered")}, "bites_when: recovered says that nothing is broken; allowed"),
        ({"bites_when": Condition.parse("quorum_caught_up")}, "bites_when: quorum_caught_up says"),
    ],
)
def test_wrong_fields(fields: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Command(**{"run": ("true",), "bites_when": FENCED, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("condition", [FENCED, MOVED], ids=str)
def test_what_brokers_say_is_the_proof_and_tells_who_was_hit(tmp_path: Path, condition: Condition) -> None:
    run = shell(tmp_path, "echo begin; touch down; $seen; rm down; echo end")
    with stand(tmp_path).inject(Command(run=run, bites_when=condition)) as hit:
        assert hit.targets == (2,)
        assert hit.proof["holds"] == str(condition)
        assert hit.asked_ns is not None
        assert hit.asked_ns < hit.acted_ns
    assert hit.heal_proof is not None
    assert (hit.heal_proof["exit_code"], hit.heal_proof["output"]) == (0, "begin\nend")


def test_what_holds_before_was_not_the_commands_doing(tmp_path: Path) -> None:
    (tmp_path / "down").touch()
    fault = Command(run=shell(tmp_path, "touch ran"), bites_when=FENCED)
    with pytest.raises(FaultFailed, match="holds before"), stand(tmp_path).inject(fault):
        pytest.fail("it was taken for its doing")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo done nothing", "was not seen to bite"),
        ("echo no such pod >&2; exit 3", "ended with 3: no such pod"),
        ("exec /nonexistent/runbook", "ended with 127"),
    ],
)
def test_a_command_that_breaks_nothing_is_not_taken_for_a_fault(tmp_path: Path, script: str, told: str) -> None:
    fault = Command(run=shell(tmp_path, script), bites_when=FENCED, settle_s=1.0)
    with pytest.raises(FaultFailed, match=told), stand(tmp_path).inject(fault):
        pytest.fail("it was taken for done")


def test_one_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    fault = Command(run=("/nonexistent/runbook",), bites_when=FENCED)
    with pytest.raises(FaultFailed, match="cannot be started: No such file"), stand(tmp_path).inject(fault):
        pytest.fail("it was taken for done")


@pytest.mark.parametrize(
    ("script", "fields", "told"),
    [
        ("touch down; $seen; exit 5", {}, "ended with 5"),
        ("touch down", {"heal_s": 0.3}, "was not seen to heal"),
        ("touch down; sleep 600", {"run_s": 0.5}, "still ran after 0.5 s; it is ended"),
    ],
)
def test_one_that_does_not_come_to_a_good_end_has_no_proof_of_it(
    tmp_path: Path, script: str, fields: dict[str, float], told: str
) -> None:
    fault = Command(run=shell(tmp_path, script), bites_when=FENCED, **fields)  # type: ignore[arg-type]
    with pytest.raises(FaultFailed, match=told), stand(tmp_path).inject(fault):
        assert "heal_s" in fields, "only one that cannot heal came so far"


def test_a_stop_ends_it_and_all_that_it_started(tmp_path: Path) -> None:
    stop = threading.Event()
    fault = Command(run=shell(tmp_path, "echo $$ > child; sleep 600 & touch down; sleep 600"), bites_when=FENCED)
    made = stand(tmp_path, MonotonicClock(stop))
    look = made.trouble["ask_all"]
    made.trouble["ask_all"] = lambda cluster: (look(cluster), (tmp_path / "seen").exists() and stop.set())
    with pytest.raises(Interrupted), made.inject(fault):
        pytest.fail("it came to an end")
    group = int((tmp_path / "child").read_text())
    wait_until("all to end", read=lambda: _lives(group), good=lambda lives: not lives, within_s=10)


def test_what_it_left_running_after_a_good_end_is_left_alone(tmp_path: Path) -> None:
    run = shell(tmp_path, "sleep 600 & echo $!; touch down; $seen; rm down")
    with stand(tmp_path).inject(Command(run=run, bites_when=FENCED)) as hit:
        pass
    daemon = int(str((hit.heal_proof or {})["output"]))
    os.kill(daemon, signal.SIGKILL)  # raises when it is gone already


def test_what_lets_sigterm_pass_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LEAVE_S", 0.2)
    run = shell(tmp_path, "(trap '' TERM; echo $$ > child; sleep 600) & touch down; sleep 600")
    with pytest.raises(FaultFailed), stand(tmp_path).inject(Command(run=run, bites_when=FENCED, run_s=0.5)):
        pytest.fail("it came to an end")
    group = int((tmp_path / "child").read_text())
    wait_until("all to end", read=lambda: _lives(group), good=lambda lives: not lives, within_s=10)


def test_it_may_take_its_time_before_it_bites_and_bite_after_its_end(tmp_path: Path) -> None:
    slow = Command(run=shell(tmp_path, "sleep 0.6; touch down; $seen; rm down"), bites_when=FENCED, settle_s=0.1)
    with stand(tmp_path).inject(slow) as hit:
        assert hit.targets == (2,)
    later = shell(tmp_path, "rm seen; (sleep 0.5; touch down; $seen; rm down) > /dev/null 2>&1 &")
    with stand(tmp_path).inject(Command(run=later, bites_when=FENCED, settle_s=10.0)) as hit:
        assert hit.targets == (2,)


def test_those_that_strike_together_wait_for_each_other_before_it_begins(tmp_path: Path) -> None:
    began: list[bool] = []
    made = stand(tmp_path)
    stage = made.stage()
    stage.ready = lambda: began.append((tmp_path / "ran").exists())
    run = shell(tmp_path, "touch ran down; $seen; rm down")
    with Command(run=run, bites_when=FENCED).inject(stage):
        assert began == [False]


def test_only_the_end_of_what_it_writes_is_kept(tmp_path: Path) -> None:
    run = shell(tmp_path, "touch down; seq 100000; $seen; rm down; echo last")
    fault = Command(run=run, bites_when=MOVED)
    with stand(tmp_path).inject(fault) as hit:
        pass
    output = str((hit.heal_proof or {})["output"])
    assert output.endswith("last")
    assert len(output) <= OUTPUT_KEPT_BYTES


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
