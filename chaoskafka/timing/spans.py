"""Uncertain instants: a Span in monotonic ns, and its figure in seconds after a fault.

In: spans of one clock, and the stalls that the observer noticed. Out: Intervals. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import observer_clock_doubts
from chaoskafka.history.events import FaultWindow
from chaoskafka.history.read import History
from chaoskafka.timing.times import Interval


@dataclass(frozen=True, slots=True)
class Span:
    """Something happened after `lo_ns` and no later than `hi_ns`."""

    lo_ns: int
    hi_ns: int


@dataclass(frozen=True, slots=True)
class Stall:
    """The machine stood still for `gap_ns`, somewhere between lo_ns and hi_ns."""

    lo_ns: int
    hi_ns: int
    gap_ns: int


@dataclass(frozen=True, slots=True)
class Stalls:
    """The times at which the machine itself stood still, as the observer felt it."""

    seen: tuple[Stall, ...] = ()
    elsewhere: bool = False  # felt on another clock than the events': when each was cannot be told

    @classmethod
    def of(cls, history: History) -> Stalls:
        seen = history.observations.filter(pl.col("kind") == "stall")
        stalls = tuple(Stall(*row) for row in seen.select("lo_ns", "hi_ns", "gap_ns").drop_nulls().rows())
        return cls(stalls, elsewhere=bool(observer_clock_doubts(history)))

    def within_ns(self, begin_ns: int, end_ns: int) -> int:
        """How much of a phase the machine may have stood still; on another clock, any stall may have been in it."""
        inside_ns = sum(
            stall.gap_ns for stall in self.seen if self.elsewhere or (stall.hi_ns > begin_ns and stall.lo_ns < end_ns)
        )
        return min(inside_ns, max(0, end_ns - begin_ns))


def deed_of(fault: FaultWindow) -> Span:
    """When the deed of a fault was done: a signal that goes through an engine is sent some time before it answers."""
    assert fault.acted_ns is not None
    return Span(fault.acted_ns if fault.asked_ns is None else min(fault.asked_ns, fault.acted_ns), fault.acted_ns)


def next_deed_ns(history: History, fault: FaultWindow, others: Iterable[FaultWindow]) -> int | None:
    """When something else was done after a fault: one of `others`, or a move of leadership; None: nothing."""
    assert fault.acted_ns is not None
    began = [deed_of(other).lo_ns for other in others]
    began += [event.at_ns for event in history.events if event.event == "place"]
    return min((at_ns for at_ns in began if at_ns > fault.acted_ns), default=None)


def after(instant: Span, deed: Span, stalls: Stalls) -> Interval:
    """An instant in seconds after a fault, or after any other instant that cannot be later (`deed`).

    A stall only makes things later, so those seen in between lower the lower end: without them it may have been sooner.
    Nothing that a fault brings about comes before it, so no figure is negative.
    """
    lo_ns = instant.lo_ns - deed.hi_ns - stalls.within_ns(deed.hi_ns, instant.hi_ns)
    return Interval(lo_s=max(0, lo_ns) / NS_PER_S, hi_s=max(0, instant.hi_ns - deed.lo_ns) / NS_PER_S)
