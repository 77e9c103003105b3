"""Timelines as a Trace Event file, which ui.perfetto.dev and chrome://tracing open.

In: WholeRuns. Out: JSON of the Trace Event format: a process per run, a thread per lane (its strips are threads
beneath), a counter per chart. Pure. Times are microseconds after the beginning of each run's timeline, as the format
wants them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from chaoskafka.report.timeline.model import Chart, Lane, Timeline
from chaoskafka.report.whole import WholeRun, title_of

_US_PER_S = 1_000_000
_STRIPS = ("", "in sync", "acknowledgements", "deliveries")
Event = dict[str, Any]


def as_trace(runs: Sequence[WholeRun]) -> str:
    """One file; runs without a timeline have no process in it."""
    events = [
        event
        for pid, run in enumerate(runs, start=1)
        if run.timeline is not None
        for event in _run(pid, f"{title_of(run)} (seed {run.header.seed})", run.timeline)
    ]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, allow_nan=False) + "\n"


def _run(pid: int, name: str, timeline: Timeline) -> Iterator[Event]:
    yield _named("process_name", pid, 0, name)
    tid = 0
    for section in timeline.sections:
        for lane in section.lanes:
            for row in range(lane.rows + 1):
                if any(bar.row == row for bar in lane.bars) or (row == 0 and lane.marks):
                    tid += 1
                    strip = f", {_STRIPS[row]}" if row else ""
                    yield _named("thread_name", pid, tid, f"{section.name}: {lane.name}{strip}")
                    yield {**_named("thread_sort_index", pid, tid, ""), "args": {"sort_index": tid}}
                    yield from _lane(pid, tid, lane, row, timeline)
    for chart in timeline.charts:
        yield from _chart(pid, chart)


def _named(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": {"name": name}}


def _at_us(at_s: float, timeline: Timeline) -> int:
    return max(0, round((at_s - timeline.begin_s) * _US_PER_S))


def _lane(pid: int, tid: int, lane: Lane, row: int, timeline: Timeline) -> Iterator[Event]:
    for bar in sorted(lane.bars, key=lambda bar: bar.lo_s):
        if bar.row == row:
            begin_us = _at_us(bar.lo_s, timeline)
            yield {
                "ph": "X",
                "name": f"{bar.state} {bar.label}".strip() if bar.label != bar.state else str(bar.state),
                "cat": str(bar.state),
                "pid": pid,
                "tid": tid,
                "ts": begin_us,
                "dur": max(0, _at_us(bar.hi_s, timeline) - begin_us),
                "args": {"told": bar.told},
            }
    for mark in lane.marks if row == 0 else ():
        at = {"pid": pid, "tid": tid, "ts": _at_us(mark.at_s, timeline)}
        yield {"ph": "i", "s": "t", "name": str(mark.state), "args": {"told": mark.told}, **at}


def _chart(pid: int, chart: Chart) -> Iterator[Event]:
    name = f"{chart.name}, {chart.unit}"
    for i in range(max(len(line.values) for line in chart.lines)):
        values = {line.name: line.values[i] for line in chart.lines if line.values[i] is not None}
        if values:
            at_us = round(i * chart.bin_s * _US_PER_S)
            yield {"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": at_us, "args": values}
