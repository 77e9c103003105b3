"""Which runs a call of `chaoskafka run` asks for. In: the request. Out: runs, in order, every scenario loaded.

All scenarios are loaded first, so that a slip in the last is told before the first has run for minutes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from chaoskafka.commands import RunRequest, RuntimeName
from chaoskafka.errors import UsageError
from chaoskafka.fleet.outcome import Asked, read_failed
from chaoskafka.fleet.shards import share
from chaoskafka.scenario import seeds
from chaoskafka.scenario.expected import expected_s
from chaoskafka.scenario.find import all_told, meant_by
from chaoskafka.scenario.load import load_scenario
from chaoskafka.scenario.model import Scenario

RUNS_MAX = 10_000  # of one call, repetitions counted: a minute each is a week


def asked_of(request: RunRequest) -> tuple[Asked, ...]:
    """The runs of this share, in the order of the call. Raises UsageError before anything was started."""
    named: Sequence[tuple[str, int | None]]
    if request.rerun_failed is not None:
        if request.scenarios or request.seed is not None:
            raise UsageError("--rerun-failed: the file says which scenarios and seeds; name none beside it")
        named = read_failed(request.rerun_failed).runs
        found, wrong = meant_by([name for name, _ in named])
    elif not request.scenarios:
        raise UsageError("no scenario: name files, directories, patterns, suites, or names as `chaoskafka list` shows")
    else:
        found, wrong = meant_by(request.scenarios)
        named = [(name, request.seed) for name in found]
    loaded = _load(found, request, wrong)
    asked = [
        (f"{name} {i}", Asked(name=name, path=found[name], scenario=loaded[name], seed=one))
        for name, seed in named
        for i, one in enumerate(_seeds(loaded[name], seed, request))
    ]
    # Seeds count up from each one that failed, so two of them may mean the same run.
    all_runs = list({one.key: (key, one) for key, one in reversed(asked)}.values())[::-1]
    if len(all_runs) > RUNS_MAX:
        raise UsageError(f"{len(all_runs)} runs in one call; at most {RUNS_MAX}")
    if request.shard is None:
        return tuple(one for _, one in all_runs)
    mine = share({key: expected_s(one.scenario) for key, one in all_runs}, request.shard)
    return tuple(one for key, one in all_runs if key in mine)


def with_earlier_settings(request: RunRequest) -> RunRequest:
    """What an earlier call had set holds for what is played again, unless it is set otherwise now."""
    if request.rerun_failed is None:
        return request
    return replace(request, settings=(*read_failed(request.rerun_failed).settings, *request.settings))


def _load(found: Mapping[str, Path], request: RunRequest, wrong: list[UsageError]) -> Mapping[str, Scenario]:
    """`wrong`: what was found to be wrong so far, to be told together with what is found here."""
    loaded: dict[str, Scenario] = {}
    for name, path in found.items():
        try:
            loaded[name] = load_scenario(
                path, settings=request.settings, variable=request.variable, runtime=request.runtime
            )
        except UsageError as error:
            wrong.append(error)
    if wrong:
        raise all_told(wrong)
    return loaded


def _seeds(scenario: Scenario, seed: int | None, request: RunRequest) -> Iterator[int]:
    """Of the repetitions: they count up, so that each asks the question anew."""
    first = seed if seed is not None else scenario.seed
    first = seeds.draw() if first is None else first
    yield from range(first, first + request.repeat)


def replay_command(name: str, seed: int, request: RunRequest) -> str:
    """The command that plays one run again, as a shell takes it."""
    words = ["chaoskafka", "run", name, "--seed", str(seed)]
    for setting in (*request.variable, *request.settings):
        words += ["--set", setting]
    if request.runtime is not RuntimeName.DOCKER:
        words += ["--runtime", request.runtime]
    if request.timeout_s is not None:
        words += ["--timeout-s", f"{request.timeout_s:g}"]
    return shlex.join(words)
