"""Several scenarios by one word: suites, directories, patterns. What is missing is named, with file, line and place."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.errors import ScenarioError, UsageError
from chaoskafka.scenario.find import find_scenarios
from chaoskafka.scenario.suites import is_suite, read_suite
from tests.rehearsals import SCENARIO


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("mine/a.yaml", "mine/deep/b.yaml", "mine/suites/both.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SCENARIO)
    (tmp_path / "mine/suites/both.yaml").write_text("# Both?\nscenarios: [../a.yaml, leader-killed]\n")
    return tmp_path


def told(text: str) -> list[str]:
    path = Path("mine/suites/wrong.yaml")
    path.write_text(text)
    with pytest.raises(ScenarioError) as wrong:
        read_suite(path, {"leader-killed": Path("x.yaml")})
    return [str(wrong.value), *getattr(wrong.value, "__notes__", ())]


def test_a_suite_names_scenarios_by_name_and_by_path() -> None:
    found = find_scenarios(["mine/suites/both.yaml"])
    assert list(found) == ["mine/suites/../a.yaml", "leader-killed"]
    assert all(path.is_file() for path in found.values())


def test_every_scenario_that_is_missing_is_named_with_file_and_line() -> None:
    first, second, third = told("# All?\nscenarios:\n  - leader-kiled\n  - 7\n  - leader-killed\n  - leader-killed\n")
    assert first.startswith("mine/suites/wrong.yaml:3: scenarios[0]: no scenario is called 'leader-kiled', and no such")
    assert "did you mean 'leader-killed'?" in first
    assert second.startswith("mine/suites/wrong.yaml:4: scenarios[1]: no scenario is called 7")
    assert third.endswith("wrong.yaml:6: scenarios[3]: leader-killed stands in it twice")


@pytest.mark.parametrize("listed", ["[]", "leader-killed", "{leader-killed: 1}"])
def test_what_is_no_list_is_refused(listed: str) -> None:
    (problem,) = told(f"scenarios: {listed}\n")
    assert "scenarios: expected a list of 1 to 500 scenarios, got" in problem


def test_a_suite_has_no_other_key() -> None:
    assert any(
        "plan: a suite has one key, scenarios" in text for text in told("scenarios: [leader-killed]\nplan: []\n")
    )


def test_a_suite_is_told_from_a_scenario() -> None:
    assert is_suite(Path("mine/suites/both.yaml"))
    assert not is_suite(Path("mine/a.yaml"))
    assert not is_suite(Path("none.yaml"))


def test_a_directory_means_the_scenarios_in_and_below_it_but_no_suite() -> None:
    assert list(find_scenarios(["mine"])) == ["mine/a.yaml", "mine/deep/b.yaml"]


def test_a_suite_s_name_wins_over_a_directory_of_that_name(here: Path) -> None:
    (here / "ci").mkdir()
    (here / "ci" / "mine.yaml").write_text(SCENARIO)
    assert "leader-killed-fast" in find_scenarios(["ci"])
    assert list(find_scenarios(["ci/"])) == ["ci/mine.yaml"]


@pytest.mark.parametrize("pattern", ["mine/**/*.yaml", "mine/[ab].yaml"])
def test_a_pattern_means_files_first(pattern: str) -> None:
    assert "mine/a.yaml" in find_scenarios([pattern])


def test_a_pattern_that_no_file_fits_means_names() -> None:
    found = find_scenarios(["leader-*-fast"])
    assert set(found) >= {"leader-killed-fast", "leader-paused-fast"}
    assert {name.endswith("-fast") for name in found} == {True}


def test_what_is_named_twice_is_played_once() -> None:
    assert list(find_scenarios(["mine/a.yaml", "mine", "smoke", "leader-killed-fast"]))[:3] == [
        "mine/a.yaml",
        "mine/deep/b.yaml",
        "leader-killed-fast",
    ]


def test_every_word_that_means_nothing_is_told() -> None:
    Path("empty").mkdir()
    with pytest.raises(UsageError) as wrong:
        find_scenarios(["empty", "nothing/*", "smok"])
    first, *notes = [str(wrong.value), *wrong.value.__notes__]
    assert "'empty' means no scenario" in first
    assert "'nothing/*' means no scenario" in notes[0]
    assert "no scenario file, name or suite 'smok'; did you mean 'smoke'?" in notes[1]
