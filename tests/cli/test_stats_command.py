"""`stats`, `compare`, and `run --fail-if`: exit codes, files, and refusals before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.commands import RunRequest, RuntimeName
from chaoskafka.commands import run as run_module
from chaoskafka.commands.stats import compared, summed_up
from chaoskafka.ending import EXIT_OF
from chaoskafka.errors import ExitCode, HistoryError, UsageError
from chaoskafka.fleet.outcome import Asked, Ended
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.scenario.load import load_text
from tests.rehearsals import SCENARIO
from tests.statistics.made import keep, result_of, step

BOUND = (2.0, 4.0)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for number in range(3):
        keep(tmp_path / "runs" / "killed", result_of(number, [step("elect", (3.0, 3.1), bound=BOUND)]))
    return tmp_path / "runs"


def test_runs_are_summed_up_and_saved(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert summed_up([runs], tmp_path / "base.json") is ExitCode.PASS
    assert "kill.elect" in capsys.readouterr().out
    assert compared(tmp_path / "base.json", runs, ["kill.elect outside bound"]) is ExitCode.PASS
    assert "PASS     killed/kill.elect: all 3 are inside" in capsys.readouterr().out


def test_a_broken_rule_fails_and_one_that_cannot_be_told_is_unknown(runs: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    keep(slow, result_of(9, [step("elect", (8.0, 8.1), bound=BOUND)]))
    assert compared(runs, slow, []) is ExitCode.PASS
    assert compared(runs, slow, ["elect outside bound"]) is ExitCode.FAIL
    keep(slow, result_of(10, [step("redirect", (8.0, 8.1))]))
    assert compared(runs, slow, ["redirect > 2x"]) is ExitCode.UNKNOWN


def test_a_baseline_that_cannot_be_written_is_told(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        summed_up([runs], tmp_path / "file" / "base.json")


def request(out: Path, *rules: str, baseline: Path | None = None) -> RunRequest:
    return RunRequest(
        scenarios=("case.yaml",),
        seed=1,
        repeat=1,
        keep=False,
        out=out,
        settings=(),
        timeout_s=None,
        runtime=RuntimeName.FAKE,
        junit=None,
        json=None,
        baseline=baseline,
        fail_if=rules,
    )


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, runs: Path) -> list[Asked]:
    """In place of playing: each run that is asked for ended, green, as the first of `runs`."""
    asked: list[Asked] = []
    run_dir = sorted((runs / "killed").iterdir())[0]
    scenario = load_text(SCENARIO, name="killed", runtime="fake")
    one = Asked(name="killed", path=Path("case.yaml"), scenario=scenario, seed=1)

    def play(which: Asked, _: RunRequest) -> Ended:
        asked.append(which)
        return Ended(asked=which, code=ExitCode.PASS, run_dir=run_dir)

    monkeypatch.setattr(run_module, "asked_of", lambda _: (one,))
    monkeypatch.setattr(run_module, "_play", play)
    assert EXIT_OF[read_result(run_dir / RESULT_FILE).answer] is ExitCode.FAIL
    return asked


def test_rules_count_beside_the_answers_of_the_runs(played: list[Asked], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_module.main(request(out)) is ExitCode.PASS
    assert run_module.main(request(out, "elect outside bound")) is ExitCode.PASS
    assert run_module.main(request(out, "elect outside bound", "commit outside bound")) is ExitCode.USAGE
    assert len(played) == 3


@pytest.mark.parametrize(
    ("took", "code"), [((8.0, 8.1), ExitCode.FAIL), ((3.9, 4.1), ExitCode.UNKNOWN), ((3.0, 3.1), ExitCode.PASS)]
)
def test_a_broken_rule_makes_green_runs_red(
    played: list[Asked], runs: Path, tmp_path: Path, took: tuple[float, float], code: ExitCode
) -> None:
    result_of(0, [step("elect", took, bound=BOUND)]).save(sorted((runs / "killed").iterdir())[0])
    assert run_module.main(request(tmp_path / "out", "elect outside bound")) is code
    assert len(played) == 1


def test_a_rule_that_cannot_be_taken_starts_nothing(played: list[Asked], tmp_path: Path) -> None:
    for wrong in (request(tmp_path, "elect > 2x"), request(tmp_path, "nonsense")):
        with pytest.raises(UsageError):
            run_module.main(wrong)
    with pytest.raises(HistoryError):
        run_module.main(request(tmp_path, "elect outside bound", baseline=tmp_path / "none.json"))
    assert played == []
