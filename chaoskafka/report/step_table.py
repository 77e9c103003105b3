"""Each failover taken apart, step by step, beside what the effective settings imply: the `phases` of a result, as rows.

In: a Result. Out: rows, one per step and subject. Pure. Steps are read by their keys, whatever their names: a result
with more of them than this version knows is shown whole, and one without any has no rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chaoskafka.report.result import Result, to_plain

Span = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One step of one failover, of one subject. Spans are (lo_s, hi_s); `took` None: it could not be seen."""

    fault: int | None  # None: outside of every fault
    scope: str
    subject: str
    phase: str
    since: str
    until: str
    took: Span | None
    at: Span | None  # its end, in seconds after the deed
    bound: Span | None
    dominated_by: str
    note: str

    @property
    def name(self) -> str:
        return self.phase.replace("_", " ")

    @property
    def stands(self) -> str:
        """How it lies to the bound, in a word; "": nothing can be said."""
        if self.took is None or self.bound is None:
            return ""
        if self.took[1] <= self.bound[1]:
            return "inside"
        return "beyond" if self.took[0] > self.bound[1] else "perhaps beyond"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGroup:
    """One step of all its subjects over one fault."""

    scope: str
    name: str
    rows: tuple[StepRow, ...]

    @property
    def slowest(self) -> StepRow:
        """The one that took longest; where nothing was seen, the first, whose note says why."""
        return max(self.rows, key=lambda row: row.took[1] if row.took is not None else -1.0)


def step_rows(result: Result) -> list[StepRow]:
    """In the order of the document."""
    steps = to_plain(result).get("phases") or []
    return [_row(step) for step in steps if isinstance(step, dict) and step.get("phase")]


def step_groups(rows: Sequence[StepRow], fault: int | None) -> list[StepGroup]:
    """The steps of one fault, in the order in which they first come."""
    found: dict[tuple[str, str], list[StepRow]] = {}
    for row in rows:
        if row.fault == fault:
            found.setdefault((row.scope, row.name), []).append(row)
    return [StepGroup(scope=scope, name=name, rows=tuple(own)) for (scope, name), own in found.items()]


def _row(step: Mapping[str, Any]) -> StepRow:
    fault = step.get("fault")
    return StepRow(
        fault=fault if isinstance(fault, int) else None,
        scope=_text(step, "scope"),
        subject=_text(step, "subject"),
        phase=_text(step, "phase"),
        since=_text(step, "from") or _text(step, "since"),
        until=_text(step, "to") or _text(step, "until"),
        took=_span(step.get("took")),
        at=_span(step.get("at")),
        bound=_span(step.get("bound")),
        dominated_by=_text(step, "dominated_by"),
        note=_text(step, "note"),
    )


def _text(step: Mapping[str, Any], key: str) -> str:
    value = step.get(key)
    return "" if value is None else str(value)


def _span(value: object) -> Span | None:
    if not isinstance(value, dict) or not {"lo_s", "hi_s"} <= value.keys():
        return None
    lo_s, hi_s = value["lo_s"], value["hi_s"]
    return (float(lo_s), float(hi_s)) if isinstance(lo_s, int | float) and isinstance(hi_s, int | float) else None
