"""The axis: which part of a run is shown, and where its zero lies.

In: a History. Out: an Axis, or None for a run in which nothing ever happened. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.read import History

MARGIN_NS = NS_PER_S // 2  # so that what happens at the ends does not stick to the frame
_AFTER_THE_RUN = 12  # phases from here on (stopping, gathering, removing) are about what is left, not about the cluster


@dataclass(frozen=True, slots=True)
class Axis:
    """Instants in ns, turned to seconds after `zero_ns`."""

    zero_ns: int
    begin_ns: int
    end_ns: int
    zero: str  # what happened then, in words

    def at_s(self, at_ns: int) -> float:
        return (at_ns - self.zero_ns) / NS_PER_S

    def between(self, lo_ns: int | None, hi_ns: int | None) -> tuple[float, float] | None:
        """A span as far as it is on the axis, None: to its end; None when nothing of it is."""
        lo = max(self.begin_ns, lo_ns if lo_ns is not None else self.begin_ns)
        hi = min(self.end_ns, hi_ns if hi_ns is not None else self.end_ns)
        return (self.at_s(lo), self.at_s(hi)) if hi >= lo else None

    def has(self, at_ns: int) -> bool:
        return self.begin_ns <= at_ns <= self.end_ns


def axis_of(history: History) -> Axis | None:
    """From the first client's start to the end of the load and of the recovery; zero is the first deed of a fault."""
    told_ns = [
        event.at_ns
        for event in history.events
        if not (event.event == "phase" and (event.fields.get("number") or 0) >= _AFTER_THE_RUN)
    ]
    if not told_ns:
        return None
    started_ns = [event.at_ns for event in history.events if event.event == "worker"]
    deeds_ns = [fault.acted_ns for fault in history.faults if fault.acted_ns is not None]
    begin_ns = min([*started_ns, *deeds_ns], default=min(told_ns))
    phases = {
        event.fields["number"]: event.at_ns
        for event in history.events
        if event.event == "phase" and event.fields.get("number") and event.fields.get("state") == "begin"
    }
    if not started_ns and 6 in phases:  # a history of old, which names no workers
        begin_ns = min(begin_ns, phases[6])
    end_ns = max([*started_ns, *deeds_ns]) if started_ns else max(told_ns)
    end_ns = max([end_ns, *(e.at_ns for e in history.events if e.event in ("fault", "recovered", "error"))])
    end_ns = max(end_ns, begin_ns + NS_PER_S // 100)
    zero_ns, zero = (min(deeds_ns), _first_deed(history)) if deeds_ns else (begin_ns, "the first client started")
    return Axis(zero_ns, begin_ns - MARGIN_NS, min(end_ns, max(told_ns)) + MARGIN_NS, zero)


def _first_deed(history: History) -> str:
    first = min((f for f in history.faults if f.acted_ns is not None), key=lambda fault: fault.acted_ns or 0)
    return f"the deed of fault {first.index} ({first.word})"
