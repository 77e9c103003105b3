"""Matrices: which combinations a file means, and what is wrong with one, told by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.errors import ScenarioError
from chaoskafka.statistics.matrix import SHOWN, read_matrix

GOOD = """\
# Which client?
scenario: leader-killed
vary:
  cluster.kafka: ["4.0", "4.4"]
  workloads[0].produce.rate_per_s: [60, 120.5]
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "clients.yaml"
    path.write_text(text)
    return path


def test_every_combination_is_a_cell_that_can_be_set(tmp_path: Path) -> None:
    matrix = read_matrix(written(tmp_path, GOOD))
    assert (matrix.repeat, matrix.show) == (1, SHOWN)
    cells = list(matrix.cells())
    assert [cell.label for cell in cells] == [("4.0", "60"), ("4.0", "120.5"), ("4.4", "60"), ("4.4", "120.5")]
    assert cells[0].settings == ('cluster.kafka="4.0"', "workloads[0].produce.rate_per_s=60")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("scenario: x", "vary is missing"),
        ("scenario: x\nvary: {}", "vary: expected at least one path"),
        ("scenario: x\nvary: {a: []}", "vary: expected at least one path"),
        ("scenario: x\nvary: {a: 1}", r"clients\.yaml:2: vary\.a: expected a list, got 1"),
        ("scenario: x\nvary: {a: [1], 'b c': [1]}", "not a path: 'b c'"),
        (f"scenario: x\nvary: {{a: {list(range(51))}, b: [1, 2]}}", "102 cells; at most 100"),
        (GOOD + "repeat: 0\n", r"clients\.yaml:6: repeat: 0 is not between 1 and 100"),
        (GOOD + "show: [kill.elected]\n", r"show: 'kill\.elected' is no step; did you mean"),
        (GOOD + "show: [kil.elect]\n", r"show: 'kil\.elect': 'kil' is no fault; did you mean 'kill'"),
        (GOOD + "shown: [elect]\n", "unknown key 'shown'; did you mean 'show'"),
        ("- 1", "expected a mapping"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        read_matrix(written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"none\.yaml: cannot be read"):
        read_matrix(tmp_path / "none.yaml")
