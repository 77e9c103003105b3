"""One run, in whichever process it is played. In: a scenario, and how to play it. Out: its history."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chaoskafka.errors import HistoryError
from chaoskafka.history.events import read_events
from chaoskafka.progress import Progress
from chaoskafka.rehearsal import FAKE
from chaoskafka.run import RunOptions, RunOutcome, run_scenario
from chaoskafka.runtime import DOCKER, PROCESS, PROCESS_PLAIN, Runtime
from chaoskafka.scenario.model import Scenario

RUNTIMES: Mapping[str, Runtime] = {runtime.name: runtime for runtime in (DOCKER, PROCESS, PROCESS_PLAIN, FAKE)}


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """What is the same whoever plays a run. `timeout_s` None: the scenario's own. `runtime`: the name of one."""

    out: Path
    keep: bool
    timeout_s: float | None
    runtime: str
    replay: str


def play(scenario: Scenario, seed: int, how: How, progress: Progress) -> RunOutcome:
    """Blocks for minutes. Raises as `run_scenario` does."""
    options = RunOptions(
        seed=seed,
        out=how.out,
        keep=how.keep,
        timeout_s=how.timeout_s if how.timeout_s is not None else scenario.timeout_s,
        progress=progress,
        replay=how.replay,
    )
    return run_scenario(scenario, options=options, runtime=RUNTIMES[how.runtime])


def problem_of(run_dir: Path) -> str:
    """Why a run was not judged, from its own events; "" when they do not say."""
    with suppress(HistoryError, OSError):
        told = read_events(run_dir / "events.jsonl")
        return "\n".join(str(event.fields.get("text")) for event in told if event.event == "error")
    return ""
