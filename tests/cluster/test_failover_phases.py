"""Failovers step by step on real clusters: what the controllers wrote, when, and inside which bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from chaoskafka.history.read import open_history
from chaoskafka.judge import judge
from chaoskafka.progress import Silent
from chaoskafka.report.result import Result
from chaoskafka.run import RunOptions, run_scenario
from chaoskafka.runtime import DOCKER, PROCESS, Runtime
from chaoskafka.scenario.load import load_text
from chaoskafka.timing.times import PhaseTime
from chaoskafka.timing.written import log_troubles
from chaoskafka.verdict import Answer

pytestmark = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.timeout(420)]

LATE_S = 1.0  # beyond a bound: what a machine with other work on it may add
LOAD = """\
cluster: {nodes: 3, timeouts: fast, config: {offsets.topic.num.partitions: "1"}}
topics: {orders: {partitions: 3}}
workloads:
  - produce: {topic: orders, rate_per_s: 60}
"""
VICTIM = "leader of orders/0, not active controller"
DEATHS = f"""\
{LOAD}plan:
  - after_s: 2
    kill: {{target: "{VICTIM}", for_s: 5}}
  - after_s: 2
    stop: {{target: "{VICTIM}", for_s: 1}}
expect: [no_lost_acknowledged, new_leader: {{within_s: 10}}]
"""
CONTROLLER = f"""\
{LOAD}plan:
  - after_s: 2
    kill: {{target: "active controller", for_s: 10}}
expect: [no_lost_acknowledged]
"""
CUTS = f"""\
{LOAD}plan:
  - after_s: 2
    cut_clients: {{target: "leader of orders/0", for_s: 5}}
  - after_s: 2
    isolate: {{target: "active controller", for_s: 10}}
expect: [no_lost_acknowledged]
"""
QUIET = f"""\
{LOAD}plan:
  - after_s: 2
    cut_clients: {{target: "leader of orders/0", for_s: 5}}
expect: [no_election]
"""


def play(out: Path, text: str, runtime: Runtime = DOCKER, *settings: str) -> tuple[Path, Result]:
    options = RunOptions(seed=7, out=out, keep=False, timeout_s=300, progress=Silent(), replay="chaoskafka run …")
    played = run_scenario(load_text(text, name="phases", settings=settings), options=options, runtime=runtime)
    return played.run_dir, judge(played.run_dir)


def of(result: Result, phase: str, fault: int = 0) -> list[PhaseTime]:
    return [row for row in result.phases if (row.phase, row.fault) == (phase, fault)]


def assert_bounded(rows: list[PhaseTime]) -> None:
    assert rows
    for row in rows:
        assert row.took is not None, row
        assert row.bound is not None, row
        assert row.bound.lo_s <= row.took.hi_s, row
        assert row.took.lo_s <= row.bound.hi_s + LATE_S, row


def assert_read_to_the_end(run_dir: Path, result: Result) -> None:
    """What was read live is what lies on disk, of every node, and cost little."""
    history = open_history(run_dir)
    assert log_troubles(history) == []
    assert result.troubles == ()
    assert len(list((run_dir / "logs").glob("*.metadata-log"))) == 3
    seen = history.observations
    assert seen.filter(pl.col("kind") == "log_skipped").is_empty()
    lines = (run_dir / "logs/observer/stdout.log").read_text().splitlines()
    first, last = json.loads(lines[0]), json.loads(lines[-1])
    share = (last["cpu_s"] - first["cpu_s"]) / ((last["at_ns"] - first["at_ns"]) / 1e9)
    print(f"observer: {100 * share:.1f} % of a core, {seen.height} lines")  # noqa: T201
    assert share < 0.10


@pytest.mark.parametrize(
    "runtime", [DOCKER, pytest.param(PROCESS, marks=pytest.mark.process)], ids=["docker", "process"]
)
def test_a_kill_and_a_stop(tmp_path: Path, runtime: Runtime) -> None:
    run_dir, result = play(tmp_path, DEATHS, runtime)
    assert {check.word: check.answer for check in result.checks} == dict.fromkeys(
        (check.word for check in result.checks), Answer.PASS
    ), result.checks
    for fault in (0, 1):
        assert_bounded(of(result, "detect", fault))
        assert_bounded(of(result, "elect", fault))
        assert all(row.took is not None for row in of(result, "commit", fault))
        assert len(of(result, "propagate", fault)) == 2 * len(of(result, "elect", fault))
        assert all(row.took is not None for row in of(result, "propagate", fault))
        assert all(row.took is not None for row in of(result, "in_sync", fault))
        assert {row.subject for row in of(result, "redirect", fault)} == {
            f"{row.subject}, producer 0" for row in of(result, "elect", fault)
        }
    (stop,) = [window for window in open_history(run_dir).faults if window.word == "stop"]
    assert stop.proof is not None
    proofs: list[Any] = list(stop.proof.values())
    assert all(proof["controlled_shutdown"]["offset"] > 0 for proof in proofs)
    assert_read_to_the_end(run_dir, result)


def test_the_active_controller_is_killed(tmp_path: Path) -> None:
    run_dir, result = play(tmp_path, CONTROLLER)
    assert_bounded(of(result, "controller"))
    assert_bounded(of(result, "detect"))
    (new,) = of(result, "controller")
    (detect,) = of(result, "detect")
    assert new.took is not None
    assert detect.took is not None
    # Who takes over gives every broker a fresh lease of 3 s.
    assert 2.9 < detect.took.lo_s - new.took.lo_s < 3.375 + LATE_S
    assert_read_to_the_end(run_dir, result)


def test_a_controller_that_is_cut_off_goes_on_writing_what_is_never_committed(tmp_path: Path) -> None:
    run_dir, result = play(tmp_path, CUTS)
    assert of(result, "detect", 0) == of(result, "elect", 0) == []
    assert_bounded(of(result, "controller", 1))
    assert_bounded(of(result, "detect", 1))
    named = open_history(run_dir).observations.filter(pl.col("kind") == "quorum")
    assert named["quorum_epoch"].drop_nulls().n_unique() > 1
    assert_read_to_the_end(run_dir, result)


@pytest.mark.parametrize("kafka", ["4.0", "4.4"])
def test_clients_that_are_cut_off_cause_no_election_in_the_oldest_and_the_newest_line(
    tmp_path: Path, kafka: str
) -> None:
    run_dir, result = play(tmp_path, QUIET, DOCKER, f'cluster.kafka="{kafka}"')
    answers = {check.word: check.answer for check in result.checks}
    assert answers == {"no_election": Answer.PASS, "took_effect": Answer.PASS, "completed": Answer.PASS}
    assert_read_to_the_end(run_dir, result)
