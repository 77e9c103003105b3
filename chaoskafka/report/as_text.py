"""A result for people: the answer first, a line per check, then the failover times, then where the rest is.

In: a Result, a width, whether colours help. Out: text. Pure.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from chaoskafka.report.result import CheckResult, Result, shown
from chaoskafka.timing.times import ClientSight, FaultTimes, Gap, Interval, PartitionTimes, PhaseTime
from chaoskafka.verdict import Answer
from chaoskafka.visible import visible

EVIDENCE_SHOWN = 5  # rows of one check; the others are in result.json
PARTITIONS_SHOWN = 24  # of one fault, those whose leader moved first
ROW_MAX = 400  # characters of one row of evidence
_STYLE = {Answer.PASS: "bold green", Answer.FAIL: "bold red", Answer.UNKNOWN: "bold yellow"}


def as_text(result: Result, run_dir: Path, *, width: int = 100, colour: bool = False) -> str:
    """What `run` and `check` print. No line is longer than `width`, save for the paths and commands at the end."""
    result = shown(result)
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, no_color=not colour, highlight=False, markup=False, emoji=False
    )
    for part in _parts(result):
        console.print(part)
    ending = [f"run directory  {visible(str(run_dir))}", f"replay         {result.replay}"]
    return "\n".join([*(line.rstrip() for line in out.getvalue().splitlines()), *ending]) + "\n"


def _parts(result: Result) -> Iterator[RenderableType]:
    if result.is_rehearsal:
        yield Text(
            f"REHEARSAL on runtime {result.runtime}: no Kafka was involved, and no answer is about Kafka", "bold"
        )
    yield Text.assemble((result.answer.upper(), _STYLE[result.answer]), f"  {result.title}", f"  (seed {result.seed})")
    if result.question:
        yield Text(result.question, style="italic")
    yield ""
    yield _checks(result.checks)
    told: dict[str, str] = {}  # evidence -> the check that gave it first: one cause makes many checks unknown
    for check in result.checks:
        yield from _evidence(check, told)
    for fault in result.faults:
        yield ""
        yield from _fault(fault)
        yield from _decisions([step for step in result.phases if step.fault == fault.index])
    if result.troubles:
        yield ""
        yield Text("what went wrong in the run itself", style="bold")
        yield from (Padding(Text(trouble), (0, 0, 0, 2)) for trouble in result.troubles)
    yield ""


def _checks(checks: Sequence[CheckResult]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(ratio=1)
    for check in checks:
        among = f"{check.found} of {check.counted}" if check.found <= check.counted else f"{check.found} found"
        counts = among if check.found else str(check.counted)
        table.add_row(Text(check.answer.value, style=_STYLE[check.answer]), check.word, counts, Text(_summary(check)))
    return table


def _summary(check: CheckResult) -> str:
    told = f"{check.summary} [a consequence of {check.consequence_of}]" if check.consequence_of else check.summary
    return f"{told} [as it must]" if check.expected else told


def _evidence(check: CheckResult, told: dict[str, str]) -> Iterator[RenderableType]:
    rows = [row for row in check.evidence if not _is_in(row, check.summary)]
    if check.answer is Answer.PASS or not rows:
        return
    heading = Text.assemble((check.word, "bold"), f"{_asked(check.parameters)}: evidence")
    first = told.setdefault(json.dumps(rows), check.word)
    if first != check.word:
        yield heading.append(f" as of {first}")
        return
    yield ""
    yield heading
    for row in rows[:EVIDENCE_SHOWN]:
        yield Padding(Text(_row(row)), (0, 0, 0, 2))
    hidden = max(check.found, len(rows)) - min(len(rows), EVIDENCE_SHOWN)
    if hidden > 0:
        yield Padding(Text(f"… and {hidden} more"), (0, 0, 0, 2))


def _is_in(row: Mapping[str, Any], summary: str) -> bool:
    """Whether the summary already says all that a row of evidence does."""
    return all(str(value) in summary for value in row.values())


def _asked(parameters: Mapping[str, Any]) -> str:
    given = {key: value for key, value in parameters.items() if value is not None}
    return f" {json.dumps(given)}" if given else ""


def _row(row: Mapping[str, Any]) -> str:
    if set(row) == {"traceback"}:
        return str(row["traceback"]).rstrip()
    text = ", ".join(f"{key}={_shown(value)}" for key, value in row.items())
    return text if len(text) <= ROW_MAX else text[:ROW_MAX] + "…"


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _fault(fault: FaultTimes) -> Iterator[RenderableType]:
    hit = ", ".join(map(str, fault.targets)) or "nobody"
    unseen = "never seen to heal" if fault.partitions else "never seen to bite"
    window = unseen if fault.window_s is None else f"for {fault.window_s:.1f} s"
    yield Text.assemble(
        (f"failover over fault {fault.index}: {fault.word}", "bold"),
        f" of node {hit}, {window}{_beside(fault)}; seconds after the deed",
    )
    moved = sorted(fault.partitions, key=lambda p: (p.new_leader is None, p.topic, p.partition))
    shown = moved[:PARTITIONS_SHOWN]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading in ("partition", "leader", "seen by", "first ack", "first read", "longest gap", "ISR full"):
        table.add_column(heading, overflow="fold", no_wrap=heading in ("leader", "seen by"))
    for times in shown:
        table.add_row(*_cells(times))
    if shown:
        yield table
    for times in shown:
        if times.note:
            yield Text(f"{times.topic}/{times.partition}: {times.note}")
    if len(moved) > len(shown):
        yield Text(f"… and {len(moved) - len(shown)} more partitions, in result.json")


def _decisions(steps: Sequence[PhaseTime]) -> Iterator[Text]:
    """What the controllers did about it, and what their settings imply; partitions' own steps are in result.json."""
    for step in steps:
        if step.phase not in ("controller", "detect"):
            continue
        bound = f", expected {_span(step.bound)} ({step.dominated_by})" if step.bound else ""
        why = f": {step.note}" if step.note else ""
        yield Text(f"{step.subject}, {step.until}: {_span(step.took)}{bound}{why}")


def _beside(fault: FaultTimes) -> str:
    others = ", ".join(map(str, fault.overlaps))
    return f", beside fault {others}" if others else ""


def _cells(times: PartitionTimes) -> tuple[str, ...]:
    seen = "\n".join(f"{sight.broker}: {_span(sight.seen)}" for sight in times.seen_by)
    return (
        f"{times.topic}/{times.partition}",
        _leaders(times),
        seen or "-",
        _slowest(times.first_ack),
        _slowest(times.first_read),
        _longest(times.unavailable),
        _span(times.in_sync),
    )


def _leaders(times: PartitionTimes) -> str:
    if times.old_leader is None:  # the times' note says why
        return "not seen"
    return f"{times.old_leader} stays" if times.new_leader is None else f"{times.old_leader}→{times.new_leader}"


def _span(interval: Interval | None) -> str:
    """`9.81` when both ends round to it, else `9.8-10.2`: never more digits than are known."""
    if interval is None:
        return "-"
    lo, hi = f"{interval.lo_s:.2f}", f"{interval.hi_s:.2f}"
    return hi if lo == hi else f"{lo}-{hi}"


def _slowest(sights: Sequence[ClientSight]) -> str:
    """Of several clients the last to succeed: the partition is back for all of them only then."""
    return _span(max(sights, key=lambda sight: sight.first.hi_s).first) if sights else "-"


def _longest(gaps: Sequence[Gap]) -> str:
    if not gaps:
        return "-"
    gap = max(gaps, key=lambda gap: (gap.open, gap.length.hi_s))
    ending = ", still open" if gap.open else ""
    return f"{_span(gap.length)} ±{gap.resolution_s:.2f}{ending}"
