"""results.json: what is written can be played again, and what is no such file is refused by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chaoskafka.errors import ExitCode, UsageError
from chaoskafka.fleet.outcome import Again, Asked, Ended, read_failed, save_results
from chaoskafka.judge import judge
from chaoskafka.scenario.load import load_text
from chaoskafka.verdict import Answer
from tests.histories.builder import build
from tests.rehearsals import SCENARIO

CODES = [ExitCode.PASS, ExitCode.FAIL, ExitCode.UNKNOWN, ExitCode.ENVIRONMENT, ExitCode.INTERRUPTED, None]


def ended() -> list[Ended]:
    scenario = load_text(SCENARIO, name="case")
    asked = [Asked(name=f"case-{i}", path=Path("case.yaml"), scenario=scenario, seed=10 + i) for i in range(6)]
    return [Ended(asked=one, code=code, duration_s=1.5) for one, code in zip(asked, CODES, strict=True)]


def test_all_but_those_that_passed_are_played_again(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    save_results(path, ended(), ["plan[0].kill.for_s=8"])
    runs = tuple((f"case-{i}", 10 + i) for i in range(1, 6))
    assert read_failed(path) == Again(runs=runs, settings=("plan[0].kill.for_s=8",))
    said = [run["ended"] for run in json.loads(path.read_text())["runs"]]
    assert said == ["pass", "fail", "unknown", "environment", "interrupted", "not_played"]


def test_a_pass_that_could_not_be_removed_is_no_pass_in_any_report(tmp_path: Path) -> None:
    result = replace(judge(build(tmp_path / "run")), answer=Answer.PASS)
    (one, *_) = ended()
    assert not replace(one, result=result).ended_otherwise
    assert replace(one, result=result, code=ExitCode.ENVIRONMENT).ended_otherwise
    assert one.ended_otherwise


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "not a results.json of this format"),
        ('{"format": 2, "runs": []}', "not a results.json of this format"),
        ('{"format": 1, "runs": [{}]}', r"runs\[0\]\.ended: missing"),
        ('{"format": 1, "runs": [{"ended": "fail", "scenario": "x", "seed": "1"}]}', r"runs\[0\]\.seed: .*no number"),
        ('{"format": 1, "runs": [], "settings": [1]}', "settings: expected a list"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=problem) as refused:
        read_failed(path)
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_failed(tmp_path / "none.json")
