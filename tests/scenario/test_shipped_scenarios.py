"""The scenarios of the repository: each asks a question, none can pass by a generous limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.cluster.config import FAST
from chaoskafka.cluster.spec import Timeouts
from chaoskafka.scenario.expected import expected_s
from chaoskafka.scenario.find import SHIPPED, find_scenario, find_scenarios, scenarios_by_name, suites_by_name
from chaoskafka.scenario.load import load_scenario
from chaoskafka.scenario.model import DEFAULT_EXPECT, PlanStep, Scenario, steps_of
from chaoskafka.scenario.suites import FOLDER, read_suite
from chaoskafka.setting import CLIENT_TIMER, CLIENT_TIMER_DEFAULT_MS

ROOT = Path(__file__).parents[2] / "scenarios"
FILES = sorted(path for path in ROOT.rglob("*.yaml") if path.parent.name != FOLDER)
SUITES = sorted((ROOT / FOLDER).glob("*.yaml"))
BUDGET_S = {
    "smoke": 180.0,
    "ci": 15 * 60.0,
}  # one run after the other, on two cores; docs/suites.md has what was measured


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


SESSION_DEFAULT_S = 9.0  # broker.session.timeout.ms
GENEROUS = 1.5  # no limit above so many times the bound that the settings imply
SETTING = "broker.session.timeout.ms"
# After an election librdkafka asks for metadata on a timer of 1 s, and forgets a fenced broker's partitions for another
# one; 0 to 2 s were measured, so a client may be without success that much longer than its partition has no leader.
REDIRECT_S = {"unavailable": 2.5}
# Nobody resets a connection to who fell silent: a client gives up what it asked there by its own timer.
SILENT = {"pause", "power_off", "isolate", "partition"}
# Clients alone are cut off, and nobody takes over: what they asked is away for as long as the cut lasts.
UNNOTICED = {"cut_clients"}


def test_there_are_some() -> None:
    assert {"leader-killed", "leader-killed-fast"} <= {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_each_loads_asks_its_question_and_judges_at_least_the_usual(path: Path) -> None:
    scenario = load_scenario(path)
    assert scenario.question.partition("?")[1], "the first comment asks the question"
    assert scenario.title != scenario.name
    assert set(DEFAULT_EXPECT) <= {item.word for item in scenario.expect}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_limit_is_generous(path: Path) -> None:
    scenario = load_scenario(path)
    fast = float(FAST[SETTING]) / 1000 if scenario.cluster.timeouts is Timeouts.FAST else SESSION_DEFAULT_S
    session_s = float(scenario.cluster.config.get(SETTING, fast * 1000)) / 1000
    elected_s = session_s + session_s / 8  # the controller looks for lapsed leases every S/8
    for item in scenario.expect:
        bound_s = elected_s + REDIRECT_S.get(item.word, 0.0)
        if item.word == "unavailable":
            bound_s += max(_longer_s(scenario, step) for step in steps_of(scenario.plan))
        for name in ("within_s", "at_most_s"):
            limit_s = getattr(item.value, name, 0.0)
            assert limit_s <= GENEROUS * bound_s, f"{item.word}: {limit_s} s for a bound of {bound_s} s"


def _longer_s(scenario: Scenario, step: PlanStep) -> float:
    """How much longer than its partition has no leader a client may be without success over a step."""
    settings = [getattr(item.value, "settings", {}) for item in scenario.workloads]
    timer_s = max(float(of.get(CLIENT_TIMER, CLIENT_TIMER_DEFAULT_MS)) for of in settings) / 1000
    if step.word in UNNOTICED:
        return float(getattr(step.fault, "for_s", 0.0)) + timer_s
    return timer_s if step.word in SILENT else 0.0


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_each_is_shipped_and_found_by_name(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = name_of(path)
    assert find_scenario(name).read_bytes() == path.read_bytes()
    assert scenarios_by_name()[name] == SHIPPED / f"{name}.yaml"


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_each_suite_asks_and_all_its_scenarios_are_there(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = read_suite(path, scenarios_by_name())
    assert suite.question.partition("?")[1], "the first comment asks the question"
    monkeypatch.chdir(tmp_path)
    assert suites_by_name()[path.stem] == SHIPPED / FOLDER / path.name
    assert list(find_scenarios([path.stem])) == [member.name for member in suite.members]


def test_a_suite_is_expected_to_take_no_longer_than_it_may() -> None:
    for name, budget_s in BUDGET_S.items():
        files = find_scenarios([name]).values()
        assert sum(expected_s(load_scenario(path)) for path in files) <= budget_s, name


def test_ci_holds_smoke_and_no_suite_but_controls_holds_a_control() -> None:
    held = {path.stem: list(find_scenarios([path.stem])) for path in SUITES}
    assert set(held["smoke"]) < set(held["ci"])
    assert {name for name in scenarios_by_name() if name.startswith("controls/")} == set(held["controls"])
    assert [name for suite in ("smoke", "ci") for name in held[suite] if name.startswith("controls/")] == []
