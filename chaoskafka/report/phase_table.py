"""The failover times of a result as rows, each beside what was allowed. Whatever figure a result lists becomes rows.

In: a Result. Out: rows, one per interval. Pure. An interval is found by its shape, not by its name, so that a result
with more figures than this version knows is shown whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chaoskafka.report.result import Result, to_plain
from chaoskafka.verdict import Answer

# Which check limits which figure, by which of its parameters.
_LIMITS = {"seen_by": ("new_leader", "within_s"), "unavailable": ("unavailable", "at_most_s")}
_WORDS = {
    "seen_by": "new leader known",
    "first_ack": "first acknowledgement",
    "first_read": "first delivery",
    "unavailable": "longest interruption",
    "in_sync": "all replicas in sync again",
}
_LIMIT_KEYS = ("limit_s", "bound_s", "at_most_s", "within_s")  # of a figure that brings its own limit along


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    """One interval, in seconds after the fault's deed (an interruption: its length)."""

    fault: int
    word: str
    where: str  # "orders/0"; "": the whole fault
    phase: str  # the figure's key in result.json
    who: str  # "broker 2", "producer 0"; "": nobody in particular
    lo_s: float
    hi_s: float
    allowed_s: float | None
    more: str = ""  # what else the figure says of itself

    @property
    def name(self) -> str:
        return _WORDS.get(self.phase, self.phase.replace("_", " "))

    @property
    def answer(self) -> Answer | None:
        """A limit is judged on the interval; without one there is no answer."""
        if self.allowed_s is None:
            return None
        if self.hi_s <= self.allowed_s:
            return Answer.PASS
        return Answer.FAIL if self.lo_s > self.allowed_s else Answer.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSpan:
    """All rows of one figure over one fault: the quickest and the slowest."""

    name: str
    rows: tuple[PhaseRow, ...]

    @property
    def quickest(self) -> PhaseRow:
        return min(self.rows, key=lambda row: (row.hi_s, row.lo_s))

    @property
    def slowest(self) -> PhaseRow:
        return max(self.rows, key=lambda row: (row.hi_s, row.lo_s))


def phase_rows(result: Result) -> list[PhaseRow]:
    """Every interval of every fault, in the order of the document."""
    limits = _limits(result)
    return [row for fault in to_plain(result)["faults"] for row in _of_fault(fault, limits)]


def phase_spans(rows: list[PhaseRow], fault: int) -> list[PhaseSpan]:
    """The rows of one fault by figure, in the order in which figures first come."""
    found: dict[str, list[PhaseRow]] = {}
    for row in rows:
        if row.fault == fault:
            found.setdefault(row.name, []).append(row)
    return [PhaseSpan(name=name, rows=tuple(own)) for name, own in found.items()]


def _limits(result: Result) -> Mapping[str, float]:
    asked = {check.word: check.parameters for check in result.checks}
    found = {}
    for phase, (check, parameter) in _LIMITS.items():
        value = asked.get(check, {}).get(parameter)
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[phase] = float(value)
    return found


def _of_fault(fault: Mapping[str, Any], limits: Mapping[str, float]) -> Iterator[PhaseRow]:
    yield from _figures(fault, fault, "", limits)
    for place in fault["partitions"]:
        yield from _figures(place, fault, f"{place['topic']}/{place['partition']}", limits)


def _figures(
    holder: Mapping[str, Any], fault: Mapping[str, Any], where: str, limits: Mapping[str, float]
) -> Iterator[PhaseRow]:
    for key, value in holder.items():
        found = value if isinstance(value, list) else [value]
        for one in found:
            if key != "partitions" and isinstance(one, dict) and (row := _row(key, one, fault, where, limits)):
                yield row


def _row(
    key: str, figure: Mapping[str, Any], fault: Mapping[str, Any], where: str, limits: Mapping[str, float]
) -> PhaseRow | None:
    """None: it holds no interval."""
    spans = [figure, *(below for below in figure.values() if isinstance(below, dict))]
    span = next((one for one in spans if {"lo_s", "hi_s"} <= one.keys()), None)
    if span is None:
        return None
    own = next((figure[name] for name in _LIMIT_KEYS if isinstance(figure.get(name), int | float)), None)
    place = where or (f"{figure['topic']}/{figure['partition']}" if {"topic", "partition"} <= figure.keys() else "")
    name = figure.get("phase") or figure.get("name") or key
    return PhaseRow(
        fault=fault["index"],
        word=fault["word"],
        where=place,
        phase=str(name),
        who=_who(figure),
        lo_s=float(span["lo_s"]),
        hi_s=float(span["hi_s"]),
        allowed_s=float(own) if own is not None else limits.get(key),
        more=_more(figure),
    )


def _who(figure: Mapping[str, Any]) -> str:
    if figure.get("client") is not None:
        return str(figure["client"])
    return f"broker {figure['broker']}" if figure.get("broker") is not None else ""


def _more(figure: Mapping[str, Any]) -> str:
    told = []
    if isinstance(figure.get("resolution_s"), int | float):
        told.append(f"resolution {figure['resolution_s']:.2f} s")
    if figure.get("open"):
        told.append("still open at the end")
    told += [str(figure[key]) for key in ("note", "source") if figure.get(key)]
    return ", ".join(told)
