"""Scenario files as tests: collected from a directory, or named by a marker. In: YAML. Out: items, reports.

Each is played as `chaoskafka run` plays it, on a cluster of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.commands import RunRequest
from chaoskafka.commands.asked import replay_command
from chaoskafka.errors import EnvironmentFailure, ExitCode, HarnessError, ScenarioError, UsageError, told
from chaoskafka.fleet import playing
from chaoskafka.fleet.playing import How
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.run import RunOutcome
from chaoskafka.scenario.find import find_scenario
from chaoskafka.scenario.load import load_scenario
from chaoskafka.scenario.model import Scenario
from chaoskafka.testing.house import House
from chaoskafka.testing.options import options
from chaoskafka.testing.outcomes import Broken, Inconclusive
from chaoskafka.testing.report import Report, story

HouseOf = Callable[[pytest.Config], House]
SUFFIXES = (".yaml", ".yml")
_GAVE = pytest.StashKey[set[str]]()  # the directories that gave a file


def collect_too(config: pytest.Config) -> None:
    """Have the directories of `--chaoskafka-scenarios` collected beside what was asked for. Raises UsageError."""
    for name, path in _directories(config).items():
        if not path.is_dir():
            raise pytest.UsageError(f"--chaoskafka-scenarios {name}: no such directory")
        if str(path) not in config.args:
            config.args.append(str(path))
    config.stash[_GAVE] = set()


def collected(file: Path, parent: pytest.Collector, house_of: HouseOf) -> pytest.Collector | None:
    """A collector for a scenario file below one of those directories."""
    if file.suffix not in SUFFIXES:
        return None
    # A directory may be reached by links, and may hold links that lead out of it.
    places = (file, file.resolve())
    above = [
        name
        for name, path in _directories(parent.config).items()
        if any(place.is_relative_to(each) for place in places for each in (path, path.resolve()))
    ]
    if not above:
        return None
    parent.config.stash[_GAVE].update(above)
    found: ScenarioFile = ScenarioFile.from_parent(parent, path=file)
    found.house_of = house_of
    return found


def refuse_empty(config: pytest.Config) -> None:
    """Once all is collected: a directory without a scenario file would be green for nothing. Raises UsageError."""
    for name in _directories(config):
        if name not in config.stash[_GAVE]:
            raise pytest.UsageError(
                f"--chaoskafka-scenarios {name}: no scenario was collected there; "
                f"allowed is a directory with files *{', *'.join(SUFFIXES)} that pytest does not ignore"
            )


def _directories(config: pytest.Config) -> dict[str, Path]:
    """As they were given, and absolute, links not followed: as pytest has the files that it finds below."""
    here = config.invocation_params.dir
    names = config.getoption("chaoskafka_scenarios")
    return {name: Path(os.path.abspath(here / name)) for name in names}  # noqa: PTH100 - resolve follows links


class ScenarioFile(pytest.File):
    """One file, one item. It is loaded now, so that a slip is told before anything has run for minutes."""

    house_of: HouseOf

    def collect(self) -> Iterator[ScenarioItem]:
        try:
            scenario = load_scenario(self.path, runtime=options(self.config).runtime_for_checking)
        except ScenarioError as wrong:
            raise self.CollectError(told(wrong)) from wrong
        item: ScenarioItem = ScenarioItem.from_parent(self, name=scenario.name)
        item.scenario, item.house_of = scenario, self.house_of
        yield item


class ScenarioItem(pytest.Item):
    """Passes, fails or is inconclusive as the scenario does."""

    scenario: Scenario
    house_of: HouseOf

    def runtest(self) -> None:
        play(self.house_of(self.config), self.scenario, str(self.path), ())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Our own errors say all; a traceback through pytest would only hide it."""
        if isinstance(excinfo.value, Broken | Inconclusive | EnvironmentFailure | UsageError):
            return told(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"scenario: {self.scenario.title}"


def play_marked(house: House, item: pytest.Item, marker: pytest.Mark) -> Report:
    """What `@pytest.mark.scenario("file.yaml", settings=[...])` asks for: a file beside the test's own, or a name.

    Raises UsageError, and as `play`.
    """
    settings = marker.kwargs.get("settings", ())
    if len(marker.args) != 1 or marker.kwargs.keys() - {"settings"} or isinstance(settings, str):
        raise UsageError(f'{item.nodeid}: @pytest.mark.scenario takes one file, and settings=["PATH=VALUE", …]')
    beside = item.path.parent / str(marker.args[0])
    file = beside if beside.is_file() else find_scenario(str(marker.args[0]))
    scenario = load_scenario(file, settings=settings, runtime=house.options.runtime)
    return play(house, scenario, str(file), settings)


def play(house: House, scenario: Scenario, name: str, settings: Sequence[str]) -> Report:
    """Blocks for minutes. Raises Broken, Inconclusive, EnvironmentFailure, HarnessError, KeyboardInterrupt."""
    house.clusters.end()  # the machine may not have room for two
    seed = house.options.seed if house.options.seed_given or scenario.seed is None else scenario.seed
    request = RunRequest(
        scenarios=(name,),
        seed=seed,
        repeat=1,
        keep=False,
        out=house.options.out,
        settings=tuple(settings),
        timeout_s=scenario.timeout_s,
        runtime=house.options.runtime,
        junit=None,
        json=None,
    )
    how = How(
        out=request.out,
        keep=request.keep,
        timeout_s=request.timeout_s,
        runtime=request.runtime,
        replay=replay_command(name, seed, request),
    )
    return _report(playing.play(scenario, seed, how, house.progress))


def _report(ended: RunOutcome) -> Report:
    if ended.exit_code is ExitCode.INTERRUPTED:
        raise KeyboardInterrupt(f"interrupted; what there is: {ended.run_dir}")
    path = ended.run_dir / RESULT_FILE
    if not path.exists():
        raise _unjudged(ended)
    result = read_result(path)
    match ended.exit_code:
        case ExitCode.PASS:
            return Report(result, ended.run_dir)
        case ExitCode.FAIL:
            raise Broken(story(result, ended.run_dir))
        case ExitCode.INTERNAL:
            raise HarnessError(f"{story(result, ended.run_dir)}\n{_problems(ended)}")
    raise Inconclusive(story(result, ended.run_dir))


def _unjudged(ended: RunOutcome) -> Exception:
    text = f"{_problems(ended)}\nrun directory  {ended.run_dir}"
    if ended.exit_code is ExitCode.ENVIRONMENT:
        return EnvironmentFailure(text)
    return HarnessError(text) if ended.exit_code is ExitCode.INTERNAL else Inconclusive(text)


def _problems(ended: RunOutcome) -> str:
    return playing.problem_of(ended.run_dir) or f"not judged: {ended.exit_code.name.lower()}"
