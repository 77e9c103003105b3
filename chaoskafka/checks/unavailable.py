"""`unavailable`: how long a client may be without a success on a partition over a fault.

In: the timing of every fault. Out: a verdict on the interval: its upper end within the limit passes, its lower end
beyond the limit fails, in between nothing can be said. A gap that is still open at the end never passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import Doubt, Reason, clock_doubts, load_doubts, tape_doubts, tell
from chaoskafka.history.read import History
from chaoskafka.timing.failover import failover
from chaoskafka.timing.starvation import starvation
from chaoskafka.timing.times import Gap
from chaoskafka.verdict import Evidence, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """No client is without success on any partition for longer than `at_most_s` over a fault."""

    at_most_s: float

    def __post_init__(self) -> None:
        if self.at_most_s <= 0:
            raise ValueError(f"at_most_s: {self.at_most_s} is not above 0")

    def check(self, history: History) -> Verdict:
        gaps = sorted(_gaps(history), key=lambda found: found.gap.length.lo_s, reverse=True)
        long = [found for found in gaps if self.is_too_long(found.gap)]
        starved = {found.where: why for found in long if (why := found.starved_by(history, self.at_most_s)) is not None}
        failing = [found.evidence for found in long if found.where not in starved]
        longest = f"the longest gap was {gaps[0].told}" if gaps else "no gap was measured"
        if failing:
            text = f"{len(failing)} gaps exceed {self.at_most_s} s; {longest}"
            return Verdict.failed(text, counted=len(gaps), found=len(failing), evidence=failing)
        doubts = [
            Doubt(Reason.IMPRECISE, found.where, f"{found.told}, the limit is {self.at_most_s} s{why and '; '}{why}")
            for found in gaps
            if not self._is_short_enough(found.gap)
            for why in [starved.get(found.where, "")]
        ]
        doubts += gap_doubts(history)
        if doubts:
            return Verdict.unknown(tell(doubts), counted=len(gaps), evidence=[doubt.evidence for doubt in doubts])
        return Verdict.passed(f"{longest}, allowed were {self.at_most_s} s", counted=len(gaps))

    def is_too_long(self, gap: Gap) -> bool:
        """For certain. Below the client's own resolution a gap proves nothing."""
        return gap.length.lo_s > max(self.at_most_s, gap.resolution_s)

    def _is_short_enough(self, gap: Gap) -> bool:
        """For certain. An open gap has no upper end."""
        return gap.length.hi_s <= self.at_most_s and not gap.open


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A gap, and where it was. `acted_ns`: of its fault."""

    where: str
    gap: Gap
    acted_ns: int

    @property
    def told(self) -> str:
        still = ", still open" if self.gap.open else ""
        return f"{self.gap.length.lo_s:.2f} to {self.gap.length.hi_s:.2f} s ({self.where}{still})"

    @property
    def evidence(self) -> Evidence:
        return {
            "where": self.where,
            "lo_s": self.gap.length.lo_s,
            "hi_s": self.gap.length.hi_s,
            "starts_s": self.gap.starts_s,
            "resolution_s": self.gap.resolution_s,
            "open": self.gap.open,
        }

    def starved_by(self, history: History, limit_s: float) -> str | None:
        """Why a gap that ended proves nothing: while it lasted the machine had no cores to spare."""
        begin_ns = self.acted_ns + int(self.gap.starts_s * NS_PER_S)
        end_ns = begin_ns + int(self.gap.length.hi_s * NS_PER_S)
        return None if self.gap.open else starvation(history, begin_ns, end_ns, limit_s=limit_s)


def gap_doubts(history: History) -> list[Doubt]:
    """Why gaps may be longer than those that were measured."""
    return [
        *load_doubts(history),
        *clock_doubts(history, "consume"),
        *tape_doubts(history, "produce"),
        *tape_doubts(history, "consume"),
    ]


def _gaps(history: History) -> Iterator[_Found]:
    acted_ns = {fault.index: fault.acted_ns or 0 for fault in history.faults}
    for fault in failover(history):
        for partition in fault.partitions:
            for gap in partition.unavailable:
                where = f"{fault.name}, {partition.topic}/{partition.partition}, {gap.client}"
                yield _Found(where=where, gap=gap, acted_ns=acted_ns[fault.index])
