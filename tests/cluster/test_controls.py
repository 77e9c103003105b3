"""Controls: runs that lose acknowledged messages on purpose, and pass only because that is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.errors import ExitCode
from chaoskafka.progress import Silent
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.run import RunOptions, run_scenario
from chaoskafka.runtime import DOCKER
from chaoskafka.scenario.find import find_scenario
from chaoskafka.scenario.load import load_scenario
from chaoskafka.verdict import Answer

pytestmark = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.timeout(600)]

LOST_MIN = 100  # 400 and 822 were measured; they grow with the rate and the length of the fault


@pytest.mark.parametrize("name", ["controls/acks-1-cut-controllers", "controls/acks-1-paused"])
def test_what_was_lost_on_purpose_is_found(name: str, tmp_path: Path) -> None:
    options = RunOptions(seed=1, out=tmp_path, keep=False, timeout_s=500, progress=Silent(), replay=f"run {name}")
    ended = run_scenario(load_scenario(find_scenario(name)), options=options, runtime=DOCKER)
    result = read_result(ended.run_dir / RESULT_FILE)
    checks = {check.word: check for check in result.checks}
    assert checks["took_effect"].answer is Answer.PASS, result.checks
    assert checks["no_lost_acknowledged"].answer is Answer.FAIL
    assert checks["no_lost_acknowledged"].found >= LOST_MIN
    assert checks["no_lost_acknowledged"].expected
    assert checks["control"].answer is Answer.PASS, result.checks
    assert ended.exit_code is ExitCode.PASS
