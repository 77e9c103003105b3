"""`matrix`: every cell is loaded before the first is played, and the table has a row for each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaoskafka.commands import RunRequest, RuntimeName
from chaoskafka.commands import matrix as command
from chaoskafka.errors import ExitCode, ScenarioError
from tests.statistics.made import keep, result_of, step

MATRIX = """\
scenario: leader-killed-fast
vary:
  cluster.kafka: ["4.2", "4.4"]
  cluster.timeouts: [fast, {timeouts}]
show: [kill.elect, commit]
"""


def request(out: Path) -> RunRequest:
    return RunRequest(
        scenarios=(),
        seed=1,
        repeat=1,
        keep=False,
        out=out,
        settings=("workloads[0].produce.rate_per_s=90",),
        timeout_s=None,
        runtime=RuntimeName.FAKE,
        junit=None,
        json=None,
    )


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[RunRequest]:
    """In place of playing: the first cell leaves a run, the others leave none."""
    asked: list[RunRequest] = []

    def run(each: RunRequest) -> ExitCode:
        asked.append(each)
        if len(asked) == 1:
            keep(each.out / "killed", result_of(1, [step("elect", (3.0, 3.2))]))
            return ExitCode.PASS
        return ExitCode.INTERRUPTED if len(asked) == 3 else ExitCode.UNKNOWN

    monkeypatch.setattr(command, "run", run)
    return asked


def test_each_cell_is_played_with_its_settings_until_one_is_interrupted(
    played: list[RunRequest], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(MATRIX.format(timeouts="default"))
    assert command.main(file, request(tmp_path / "runs")) is ExitCode.INTERRUPTED
    assert [each.settings[1:] for each in played[:2]] == [
        ('cluster.kafka="4.2"', 'cluster.timeouts="fast"'),
        ('cluster.kafka="4.2"', 'cluster.timeouts="default"'),
    ]
    assert {each.settings[0] for each in played} == {"workloads[0].produce.rate_per_s=90"}
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("4.")]
    assert rows[0] == ["4.2", "fast", "pass", "3.100", "(n", "1)", "-"]
    assert rows[1] == ["4.2", "default", "unknown", "-", "-"]
    (written,) = (tmp_path / "runs" / "matrix-two").glob("*/matrix.md")
    assert written.read_text().count("\n") == 5


def test_a_value_that_does_not_fit_is_told_before_anything_is_played(played: list[RunRequest], tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(MATRIX.format(timeouts="quick"))
    with pytest.raises(ScenarioError, match="timeouts"):
        command.main(file, request(tmp_path / "runs"))
    assert played == []


def test_a_runtime_is_chosen_before_any_cell_is_loaded(
    played: list[RunRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "chosen", lambda _: RuntimeName.PROCESS)
    file = tmp_path / "two.yaml"
    file.write_text(MATRIX.format(timeouts="default"))
    command.main(file, replace(request(tmp_path / "runs"), runtime=RuntimeName.AUTO))
    assert {each.runtime for each in played} == {RuntimeName.PROCESS}
