"""The values that timing yields and reports show. Every figure is an interval in seconds after the fault acted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The instant lies after `lo_s` and no later than `hi_s`, both in seconds after the fault acted."""

    lo_s: float
    hi_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The longest time without a success over a fault, of one client on one partition.

    `resolution_s` = max(1/rate, p99 gap before the fault): a gap below it says nothing. `open` = no success came after.
    """

    client: str  # "producer 3" or "group readers"
    length: Interval
    starts_s: float  # last success before it, in seconds after the fault acted (negative: before)
    resolution_s: float
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSight:
    """When one live broker's own answer first named the new leader (leader and epoch)."""

    broker: int
    seen: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSight:
    """When one client first succeeded in the new leader's epoch: first ack of a producer, first read of a group."""

    client: str
    first: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTimes:
    """One partition's failover. `new_leader` None: leadership did not move in this fault's window."""

    topic: str
    partition: int
    old_leader: int | None
    new_leader: int | None
    old_epoch: int | None
    new_epoch: int | None
    seen_by: tuple[BrokerSight, ...] = ()
    first_ack: tuple[ClientSight, ...] = ()
    first_read: tuple[ClientSight, ...] = ()
    unavailable: tuple[Gap, ...] = ()
    in_sync: Interval | None = None  # ISR full again
    note: str | None = None  # why a figure is missing


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTimes:
    """All partitions over one fault."""

    index: int
    word: str
    targets: tuple[int, ...]
    window_s: float | None  # from acted to healed; None: it never bit, or never healed
    partitions: tuple[PartitionTimes, ...]
    overlaps: tuple[int, ...] = ()  # the faults that were in force at the same time, by their index

    @property
    def name(self) -> str:
        """For people: with those that what is seen may be the doing of."""
        others = ", ".join(map(str, self.overlaps))
        return f"fault {self.index}" + (f" (and fault {others})" if others else "")


# The steps that there are, in the order in which docs/timing.md explains them.
STEPS = (
    "inject",
    "controller",
    "detect",
    "elect",
    "commit",
    "propagate",
    "redirect",
    "rebalanced",
    "shrink",
    "in_sync",
    "home",
    "unavailable",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTime:
    """One step of one failover, of one subject. `took` None: it could not be seen, and `note` says why.

    `since` and `until` name the instants between which it lies; in documents they are called `from` and `to`. `at`: the
    later of them, in seconds after the deed. `bound`: what the effective settings imply for `took`.
    """

    fault: int | None  # None: outside of every fault
    scope: str  # fault, quorum, broker, partition, client, group
    subject: str
    phase: str
    since: str
    until: str
    took: Interval | None
    at: Interval | None
    bound: Interval | None = None
    dominated_by: str | None = None
    resolution_s: float | None = None  # what is shorter says nothing
    note: str | None = None
