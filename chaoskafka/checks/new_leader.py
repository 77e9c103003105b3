"""`new_leader`: how soon a partition whose leader was hit has another one that every live broker names.

In: the timing of every fault and the observer's lines. Out: a verdict on the interval of the *latest* broker to know.
Partitions that the hit nodes did not lead are not judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import Doubt, Reason, load_doubts, observer_clock_doubts, tell
from chaoskafka.history.events import FaultWindow
from chaoskafka.history.read import History
from chaoskafka.history.views import rivals
from chaoskafka.timing.allowed import new_leader_s
from chaoskafka.timing.failover import failover
from chaoskafka.timing.leadership import live_brokers, watched_until_ns
from chaoskafka.timing.times import FaultTimes, Interval, PartitionTimes
from chaoskafka.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """When the latest live broker named the new leader; `seen.hi_s` infinite: one of them never did.

    `bound_s`: how long the settings allow for that; None: they do not say, `dominated_by` is the reason.
    """

    fault: int
    where: str
    latest_broker: int
    old_leader: int
    new_leader: int | None
    seen: Interval
    bound_s: float | None
    dominated_by: str

    @property
    def told(self) -> str:
        if math.isinf(self.seen.hi_s):
            return f"{self.where}: broker {self.latest_broker} named no new leader for {self.seen.lo_s:.2f} s"
        return (
            f"{self.where}: broker {self.latest_broker} named it after {self.seen.lo_s:.2f} to {self.seen.hi_s:.2f} s"
        )

    @property
    def evidence(self) -> dict[str, str | int | float | None]:
        return {
            "where": self.where,
            "latest_broker": self.latest_broker,
            "old_leader": self.old_leader,
            "new_leader": self.new_leader,
            "lo_s": self.seen.lo_s,
            "hi_s": None if math.isinf(self.seen.hi_s) else self.seen.hi_s,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLeader:
    """Each partition that a hit node led has a new leader, known to every live broker, in time. Give one of the two."""

    within_s: float | None = None  # the limit
    within: Literal["bound"] | None = None  # bound: what the effective settings imply for what was really hit

    def __post_init__(self) -> None:
        if (self.within_s is None) == (self.within is None):
            raise ValueError("within_s: give either within_s, or within: bound")
        if self.within_s is not None and self.within_s <= 0:
            raise ValueError(f"within_s: {self.within_s} is not above 0")

    def check(self, history: History) -> Verdict:
        doubts = [*sight_doubts(history), *load_doubts(history)]
        return self._verdict(sorted(sights_of(history), key=lambda sight: sight.seen.lo_s, reverse=True), doubts)

    def is_late(self, sight: Sight) -> bool:
        """For certain."""
        limit_s = self._limit_s(sight)
        return limit_s is not None and sight.seen.lo_s > limit_s

    def _limit_s(self, sight: Sight) -> float | None:
        return sight.bound_s if self.within_s is None else self.within_s

    def _told(self, sight: Sight) -> str:
        if self.within_s is not None:
            return f"{self.within_s} s"
        return f"{sight.bound_s:.2f} s by {sight.dominated_by}"

    def _verdict(self, sights: list[Sight], doubts: list[Doubt]) -> Verdict:
        failing = [sight for sight in sights if self.is_late(sight)]
        if failing:
            late, of = failing[0], f"{len(failing)} of {len(sights)} partitions"
            text = f"{of} had no new leader in {self._told(late)}; {late.told}"
            evidence = [sight.evidence for sight in failing]
            return Verdict.failed(text, counted=len(sights), found=len(failing), evidence=evidence)
        for sight in sights:
            limit_s = self._limit_s(sight)
            if limit_s is None:
                doubts.append(Doubt(Reason.NOT_COVERED, sight.where, f"there is no bound: {sight.dominated_by}"))
            elif sight.seen.hi_s > limit_s:
                reason = Reason.NOT_OBSERVED if math.isinf(sight.seen.hi_s) else Reason.IMPRECISE
                doubts.append(Doubt(reason, sight.where, sight.told))
        if doubts:
            return Verdict.unknown(tell(doubts), counted=len(sights), evidence=[doubt.evidence for doubt in doubts])
        if not sights:
            return Verdict.unknown("no fault hit the leader of a partition")
        slowest = max(sights, key=lambda sight: sight.seen.hi_s)
        return Verdict.passed(
            f"slowest of all: {slowest.told}; allowed were {self._told(slowest)}", counted=len(sights)
        )


def sights_of(history: History) -> list[Sight]:
    """One for each partition whose leader a fault hit."""
    windows = {fault.index: fault for fault in history.faults}
    return [
        sight
        for times in failover(history)
        for partition in times.partitions
        if partition.old_leader in times.targets
        for sight in _latest(history, windows[times.index], times, partition)
    ]


def sight_doubts(history: History) -> list[Doubt]:
    """Why `sights_of` may be wrong, or lack some."""
    why = "no broker had named a leader before the fault"
    return [
        *observer_clock_doubts(history),
        *(
            Doubt(Reason.NOT_OBSERVED, _where(times, partition), why)
            for times in failover(history)
            for partition in times.partitions
            if partition.old_leader is None
        ),
    ]


def _latest(history: History, fault: FaultWindow, times: FaultTimes, partition: PartitionTimes) -> Iterator[Sight]:
    """The live broker that was last to name the new leader, or that had not named it while it was watched."""
    assert fault.acted_ns is not None
    assert partition.old_leader is not None
    named = {sight.broker: sight.seen for sight in partition.seen_by}
    for broker in live_brokers(history, fault, rivals(history, fault)):
        if broker not in named:
            until_ns = watched_until_ns(history, broker) or fault.acted_ns
            blind_s = max(0.0, (until_ns - fault.acted_ns) / NS_PER_S)
            named[broker] = Interval(lo_s=blind_s, hi_s=math.inf)
    if named:
        # Every live broker must know, so each end of the interval is the latest of theirs.
        seen = Interval(lo_s=max(i.lo_s for i in named.values()), hi_s=max(i.hi_s for i in named.values()))
        latest = max(named, key=lambda broker: (named[broker].hi_s, named[broker].lo_s))
        bound_s, dominated_by = new_leader_s(history, times)
        yield Sight(
            fault=times.index,
            where=_where(times, partition),
            latest_broker=latest,
            old_leader=partition.old_leader,
            new_leader=partition.new_leader,
            seen=seen,
            bound_s=bound_s,
            dominated_by=dominated_by,
        )


def _where(times: FaultTimes, partition: PartitionTimes) -> str:
    return f"{times.name}, {partition.topic}/{partition.partition}"
