"""`unavailable`: how long a client may be without a success on a partition over a fault.

In: the timing of every fault. Out: a verdict on the interval: its upper end within the limit passes, its lower end
beyond the limit fails, in between nothing can be said. A gap that is still open at the end never passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chaoskafka.history.doubt import Doubt, Reason, clock_doubts, load_doubts, tape_doubts, tell
from chaoskafka.history.read import History
from chaoskafka.timing.failover import failover
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
        gaps = sorted(_gaps(history), key=lambda found: found[1].length.lo_s, reverse=True)
        failing = [_evidence(where, gap) for where, gap in gaps if self.is_too_long(gap)]
        longest = f"the longest gap was {_told(*gaps[0])}" if gaps else "no gap was measured"
        if failing:
            text = f"{len(failing)} gaps exceed {self.at_most_s} s; {longest}"
            return Verdict.failed(text, counted=len(gaps), found=len(failing), evidence=failing)
        doubts = [
            Doubt(Reason.IMPRECISE, where, f"{_told(where, gap)}, the limit is {self.at_most_s} s")
            for where, gap in gaps
            if not self.is_too_long(gap) and not self._is_short_enough(gap)
        ]
        doubts += [*load_doubts(history), *clock_doubts(history, "consume")]
        doubts += [*tape_doubts(history, "produce"), *tape_doubts(history, "consume")]
        if doubts:
            return Verdict.unknown(tell(doubts), counted=len(gaps), evidence=[doubt.evidence for doubt in doubts])
        return Verdict.passed(f"{longest}, allowed were {self.at_most_s} s", counted=len(gaps))

    def is_too_long(self, gap: Gap) -> bool:
        """For certain. Below the client's own resolution a gap proves nothing."""
        return gap.length.lo_s > max(self.at_most_s, gap.resolution_s)

    def _is_short_enough(self, gap: Gap) -> bool:
        """For certain. An open gap has no upper end."""
        return gap.length.hi_s <= self.at_most_s and not gap.open


def _gaps(history: History) -> Iterator[tuple[str, Gap]]:
    for fault in failover(history):
        for partition in fault.partitions:
            for gap in partition.unavailable:
                yield f"{fault.name}, {partition.topic}/{partition.partition}, {gap.client}", gap


def _told(where: str, gap: Gap) -> str:
    still = ", still open" if gap.open else ""
    return f"{gap.length.lo_s:.2f} to {gap.length.hi_s:.2f} s ({where}{still})"


def _evidence(where: str, gap: Gap) -> Evidence:
    return {
        "where": where,
        "lo_s": gap.length.lo_s,
        "hi_s": gap.length.hi_s,
        "starts_s": gap.starts_s,
        "resolution_s": gap.resolution_s,
        "open": gap.open,
    }
