"""Everything that a report shows of one run, read from its directory alone.

In: a run directory. Out: a WholeRun. A part that cannot be read is left out, and `gaps` says why: a report of a damaged
run is worth more than none. Only a directory that is no run directory is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from chaoskafka.errors import HistoryError
from chaoskafka.history.events import Event
from chaoskafka.history.header import RunHeader
from chaoskafka.history.read import open_history
from chaoskafka.history.views import recovery
from chaoskafka.report.answer import UNJUDGED, why, why_unjudged
from chaoskafka.report.phase_table import PhaseRow, phase_rows
from chaoskafka.report.result import RESULT_FILE, Result, read_result
from chaoskafka.report.step_table import StepRow, step_rows
from chaoskafka.report.story.model import Story
from chaoskafka.report.story.tell import stories
from chaoskafka.report.timeline.build import timeline
from chaoskafka.report.timeline.model import Timeline

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """One run. `result` None: it was not judged. `gaps`: what could not be read, and why."""

    run_dir: Path
    header: RunHeader
    events: tuple[Event, ...]
    result: Result | None
    timeline: Timeline | None
    stories: tuple[Story, ...]
    phases: tuple[PhaseRow, ...]
    steps: tuple[StepRow, ...]
    recovery: Event | None
    gaps: tuple[str, ...]


def whole_run(run_dir: Path) -> WholeRun:
    """Blocks while tables are read. Raises HistoryError when it is no run directory of this format."""
    history = open_history(run_dir)
    gaps: list[str] = []
    result = _tried(lambda: read_result(run_dir / RESULT_FILE), gaps) if (run_dir / RESULT_FILE).exists() else None
    events = _tried(lambda: tuple(history.events), gaps) or ()
    return WholeRun(
        run_dir=run_dir,
        header=history.header,
        events=events,
        result=result,
        timeline=_tried(lambda: timeline(history), gaps) if events else None,
        stories=tuple(_tried(lambda: stories(history, result), gaps) or ()) if events and result is not None else (),
        phases=tuple(phase_rows(result)) if result is not None else (),
        steps=tuple(step_rows(result)) if result is not None else (),
        recovery=recovery(history) if events else None,
        gaps=tuple(dict.fromkeys(gaps)),
    )


def answer_of(run: WholeRun) -> str:
    """pass, fail, unknown, or that it was not judged."""
    return str(run.result.answer) if run.result is not None else UNJUDGED


def title_of(run: WholeRun) -> str:
    return run.result.title if run.result else str(run.header.scenario.get("title") or run.header.scenario_name)


def why_of(run: WholeRun) -> str:
    """The answer's reason in a sentence."""
    if run.result is not None:
        return why(run.result)
    if (run.run_dir / RESULT_FILE).exists():
        return f"Its result cannot be read; it is judged again by: chaoskafka check {run.run_dir}"
    return why_unjudged(run.events)


def _tried(read: Callable[[], T], gaps: list[str]) -> T | None:
    try:
        return read()
    except HistoryError as damaged:
        gaps.append(str(damaged))
        return None
