"""The demo's question, asked of every supported release on real clusters, and of dedicated controllers."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.cluster.versions import DEFAULT, RELEASES
from chaoskafka.errors import ExitCode
from chaoskafka.judge import judge
from chaoskafka.progress import Silent
from chaoskafka.report.result import Result
from chaoskafka.run import RunOptions, run_scenario
from chaoskafka.scenario.load import load_scenario
from chaoskafka.verdict import Answer

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

SCENARIOS = Path(__file__).parents[2] / "scenarios"
EVERY_CHANGE = {RELEASES[-1]}  # the others at night; the default release is played by test_run


def play(scenario: str, out: Path, *settings: str) -> Result:
    """Run, and judge again from the run directory."""
    options = RunOptions(seed=11, out=out, keep=False, timeout_s=None, progress=Silent(), replay="chaoskafka run …")
    outcome = run_scenario(load_scenario(SCENARIOS / f"{scenario}.yaml", settings=settings), options=options)
    result = judge(outcome.run_dir)
    assert {check.word: check.answer for check in result.checks} == {c.word: Answer.PASS for c in result.checks}
    assert outcome.exit_code is ExitCode.PASS
    return result


@pytest.mark.parametrize(
    "release",
    [
        pytest.param(release, marks=[] if release in EVERY_CHANGE else pytest.mark.nightly)
        for release in RELEASES
        if release != DEFAULT
    ],
)
def test_a_killed_leader_costs_nothing_in_any_release(release: str, tmp_path: Path) -> None:
    result = play("leader-killed-fast", tmp_path, f'cluster.kafka="{release}"')
    assert result.versions["kafka"] == release
    (fault,) = result.faults
    assert [p for p in fault.partitions if p.new_leader is not None]
