"""The fake cluster's metadata log, read by the real observer in whole runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.history.read import open_history
from chaoskafka.timing.written import log_of, log_troubles
from chaoskafka.verdict import Answer
from tests.rehearsals import Played, hurry, rehearse

pytestmark = pytest.mark.slow

LOAD = """\
topics: {orders: {partitions: 2}}
workloads: [{produce: {topic: orders, rate_per_s: 400, message_bytes: 60}}]
"""
VICTIM = "leader of orders/0, not active controller"


def played(out: Path, monkeypatch: pytest.MonkeyPatch, plan: str, expect: str = "no_lost_acknowledged") -> Played:
    hurry(monkeypatch)
    return rehearse(out, text=f"{LOAD}plan: [{plan}]\nexpect: [{expect}]\n")


def test_every_step_of_a_death_and_a_stop_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = f"kill: {{target: '{VICTIM}', for_s: 0.2}}}}, {{after_s: 0, stop: {{target: '{VICTIM}', for_s: 0.2}}"
    run = played(tmp_path, monkeypatch, f"{{after_s: 0, {plan}}}")
    assert run.result.troubles == (), "what was read live is what the controllers have"
    history = open_history(run.run_dir)
    assert log_of(history).was_read
    assert log_troubles(history) == []
    for fault in (0, 1):
        steps = {row.phase: row for row in run.result.phases if row.fault == fault}
        assert {"inject", "detect", "elect", "commit", "propagate", "redirect", "shrink"} <= set(steps)
        assert all(steps[phase].took is not None for phase in ("detect", "elect", "commit", "propagate"))
    stop = history.faults[1]
    assert stop.proof is not None
    (proof,) = stop.proof.values()
    assert proof["controlled_shutdown"]["offset"] > 0


def test_a_new_active_controller_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = played(tmp_path, monkeypatch, "{after_s: 0, kill: {target: active controller, for_s: 0.3}}")
    (row,) = [row for row in run.result.phases if row.phase == "controller"]
    assert row.took is not None
    assert row.bound is not None
    assert len(log_of(open_history(run.run_dir)).leaders) > 1


@pytest.mark.parametrize(
    ("plan", "answer"),
    [
        ("{after_s: 0, cut_clients: {target: leader of orders/0, for_s: 0.3}}", Answer.PASS),
        (f"{{after_s: 0, kill: {{target: '{VICTIM}', for_s: 0.2}}}}", Answer.FAIL),
    ],
)
def test_whether_anybody_was_elected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: str, answer: Answer
) -> None:
    run = played(tmp_path, monkeypatch, plan, "no_election")
    (check,) = [check for check in run.result.checks if check.word == "no_election"]
    assert check.answer is answer, check
