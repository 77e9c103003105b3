"""`chaoskafka run`: load every scenario first, play them one after the other, report each, and exit by the gravest."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from chaoskafka.commands import RunRequest, RuntimeName
from chaoskafka.commands.choice import chosen
from chaoskafka.commands.output import Judged, complain, explain, gravest, say, show_result, writable, write_reports
from chaoskafka.commands.progress import shown_on
from chaoskafka.errors import ChaosKafkaError, ExitCode, HistoryError, UsageError
from chaoskafka.history.events import read_events
from chaoskafka.phases import interrupted_by_signals
from chaoskafka.rehearsal import FAKE
from chaoskafka.report.as_junit import Unjudged
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.run import RunOptions, run_scenario
from chaoskafka.runtime import DOCKER, PROCESS, Runtime
from chaoskafka.scenario.find import find_scenario
from chaoskafka.scenario.load import load_scenario
from chaoskafka.scenario.model import Scenario

RUNTIMES: Mapping[RuntimeName, Runtime] = {
    RuntimeName.DOCKER: DOCKER,
    RuntimeName.PROCESS: PROCESS,
    RuntimeName.FAKE: FAKE,
}
_SEEDS = 2**32  # short enough to be typed again


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    """How one run ended. `run_dir` None: it never got as far as a directory."""

    scenario: str
    seed: int
    code: ExitCode
    run_dir: Path | None
    problem: str = ""


def main(request: RunRequest) -> ExitCode:
    """Blocks for minutes. Raises UsageError before anything was started, and KeyboardInterrupt between runs."""
    if request.keep and request.runtime is RuntimeName.FAKE:
        raise UsageError("--keep: a rehearsal on runtime fake leaves nothing that could be kept")
    with interrupted_by_signals():
        return _run(replace(request, runtime=chosen(request.runtime)))


def _run(request: RunRequest) -> ExitCode:
    scenarios = _load(request)
    writable(request.junit, request.json)
    _make_out(request.out)
    ended: list[_Ended] = []
    judged: list[Judged] = []
    unjudged: list[Unjudged] = []
    for scenario, seed in _runs(scenarios, request):
        one = _play(scenario, seed, request)
        ended.append(one)
        shown = _show(one.run_dir) if one.run_dir is not None else None
        if shown is not None:
            judged.append(shown)
        else:
            unjudged.append(Unjudged(name=one.scenario, problem=one.problem or _problem_of(one)))
        if one.code is ExitCode.INTERRUPTED:
            break
    if len(ended) > 1:
        say(_summary(ended))
    write_reports(judged, unjudged, junit=request.junit, json_lines=request.json)
    return gravest(one.code for one in ended)


def _load(request: RunRequest) -> list[tuple[str, Scenario]]:
    """All of them, so that a slip in the last is told before the first has run for minutes."""
    loaded, wrong = [], []
    for name in request.scenarios:
        try:
            loaded.append((name, _read(name, request)))
        except UsageError as error:
            wrong.append(error)
    if wrong:
        first, *others = wrong
        for other in others:
            for text in (str(other), *getattr(other, "__notes__", ())):
                first.add_note(text)
        raise first
    return loaded


def _read(name: str, request: RunRequest) -> Scenario:
    return load_scenario(
        find_scenario(name), settings=request.settings, variable=request.variable, runtime=request.runtime
    )


def _make_out(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=out):  # that it is there does not say that anything can be made in it
            pass
    except (OSError, ValueError) as refused:
        why = getattr(refused, "strerror", None) or "no file can have such a name"
        raise UsageError(f"--out (CHAOSKAFKA_OUT) {out}: cannot hold run directories: {why}") from refused


def _runs(scenarios: Sequence[tuple[str, Scenario]], request: RunRequest) -> Iterator[tuple[tuple[str, Scenario], int]]:
    """Each scenario `repeat` times, with seeds that count up, so that a repetition asks the question anew."""
    for name, scenario in scenarios:
        first = request.seed if request.seed is not None else scenario.seed
        first = secrets.randbelow(_SEEDS) if first is None else first
        for i in range(request.repeat):
            yield (name, scenario), first + i


def _play(named: tuple[str, Scenario], seed: int, request: RunRequest) -> _Ended:
    name, scenario = named
    try:
        with shown_on() as progress:
            options = RunOptions(
                seed=seed,
                out=request.out,
                keep=request.keep,
                timeout_s=request.timeout_s if request.timeout_s is not None else scenario.timeout_s,
                progress=progress,
                replay=replay_command(name, seed, request),
            )
            outcome = run_scenario(scenario, options=options, runtime=RUNTIMES[request.runtime])
    except ChaosKafkaError as error:
        explain(error)
        return _Ended(scenario=scenario.name, seed=seed, code=error.exit_code, run_dir=None, problem=str(error))
    return _Ended(scenario=scenario.name, seed=seed, code=outcome.exit_code, run_dir=outcome.run_dir)


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


def _show(run_dir: Path) -> Judged | None:
    """The report of a run that was judged; a run that was not says where it is."""
    if not (run_dir / RESULT_FILE).exists():
        complain(f"chaoskafka: not judged; what there is: {run_dir}")
        return None
    try:
        result = read_result(run_dir / RESULT_FILE)
    except HistoryError as broken:
        explain(broken)
        return None
    show_result(result, run_dir)
    return result, run_dir


def _problem_of(one: _Ended) -> str:
    """Why a run was not judged, from its own events."""
    events = one.run_dir / "events.jsonl" if one.run_dir is not None else None
    told = read_events(events) if events is not None and events.exists() else []
    errors = [str(event.fields.get("text")) for event in told if event.event == "error"]
    return "\n".join(errors) or f"not judged: {one.code.name.lower()}"


def _summary(ended: Sequence[_Ended]) -> str:
    lines = [f"{one.code.name.lower():12} {one.scenario}  seed {one.seed}  {one.run_dir or '-'}" for one in ended]
    passed = sum(one.code is ExitCode.PASS for one in ended)
    return "\n".join(["", f"{passed} of {len(ended)} runs passed", *lines])
