"""Stored runs that are judged, good and altered ones: what every report is tried on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from chaoskafka.history.header import RunHeader
from chaoskafka.history.read import open_history
from chaoskafka.judge import judge
from chaoskafka.phases import Phase
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.report.story.model import Story
from chaoskafka.report.story.tell import stories
from tests.histories.builder import build
from tests.histories.copy import Copy
from tests.histories.shape import T0_NS, S, Shape
from tests.judge.conftest import lines, phase_line, write_lines

Alter = Callable[[Copy], None]
EXPECT = (
    "no_lost_acknowledged", "no_unexpected", "offsets_agree", "all_delivered", "accounted", "clients_alive", "progress",
    "recovered", "no_duplicates", "ordered", "new_leader", "unavailable",
)  # fmt: skip
_LIMITS = {"new_leader": {"within_s": 5.0}, "unavailable": {"at_most_s": 5.0}}


def whole(run_dir: Path, shape: Shape) -> Path:
    """A run of a killed leader with all its phases, not judged yet."""
    build(run_dir, shape)
    events = [line for line in lines(run_dir) if line["event"] != "phase"]
    first_ns, last_ns = T0_NS - S, shape.stopped_ns + S
    early = [phase_line(phase, state, first_ns) for phase in list(Phase)[:6] for state in ("begin", "end")]
    late = [phase_line(phase, state, last_ns) for phase in list(Phase)[7:13] for state in ("begin", "end")]
    play = phase_line(Phase.PLAY, "begin", first_ns), phase_line(Phase.PLAY, "end", last_ns)
    write_lines(run_dir, [*early, play[0], *events, play[1], *late])
    return run_dir


def judged(run: Copy, *alter: Alter, expect: Sequence[str] = EXPECT) -> Path:
    """The same run, altered, then judged by these checks."""
    for change in alter:
        change(run)
    header = RunHeader.load(run.run_dir)
    replace(header, expect=tuple({word: _LIMITS.get(word, {})} for word in expect)).save(run.run_dir)
    judge(run.run_dir)
    return run.run_dir


def told(run_dir: Path) -> list[Story]:
    return stories(open_history(run_dir), read_result(run_dir / RESULT_FILE))
