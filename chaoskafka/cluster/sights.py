"""What brokers said, as values, and what several of them say together. Pure: no client, no codec, no clock.

In: the answers that `views.py` got from each broker over a connection of its own. Out: who leads what, who is fenced,
who is the active controller, and where brokers contradict each other. A broker that did not answer is a value too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Partition = tuple[str, int]  # topic name, partition number

NO_LEADER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """One partition as one broker's Metadata answer shows it. `leader` is -1 while there is none."""

    topic_id: str
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()

    @property
    def has_full_isr(self) -> bool:
        """Led, and every replica in sync and alive."""
        return self.leader != NO_LEADER and not self.offline and set(self.isr) == set(self.replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerView:
    """What one broker says. Whatever it was not asked, or did not answer, is None or empty; `error` says why.

    `applied_offset`: offset of the last metadata record it has applied (ApiVersions, finalized_features_epoch).
    `metadata_high_watermark`: end (exclusive) of what the controllers have committed, as the active one says.
    `controller`, `controller_epoch`: the active controller, from DescribeQuorum, which the broker forwards to it.
    `voters`: each controller of the quorum, and where its log ends, as the active one knows.
    `fenced`: each registered broker, fenced or not, in this broker's eyes (DescribeCluster v2, KIP-1073).
    """

    broker: int
    reachable: bool
    error: str | None = None
    applied_offset: int | None = None
    metadata_high_watermark: int | None = None
    controller: int | None = None
    controller_epoch: int | None = None
    voters: Mapping[int, int] = field(default_factory=dict)
    fenced: Mapping[int, bool] = field(default_factory=dict)
    partitions: Mapping[Partition, PartitionView] = field(default_factory=dict)
    internal: frozenset[str] = frozenset()  # topics that Kafka itself made
    asked_ns: int = 0
    answered_ns: int = 0


def reachable(views: Iterable[BrokerView]) -> list[BrokerView]:
    """Those that answered."""
    return [view for view in views if view.reachable]


def leadership(views: Iterable[BrokerView]) -> dict[Partition, PartitionView]:
    """The newest answer about each partition.

    A broker with old metadata goes on naming the dead leader (KIP-320), so the highest leader epoch wins; within one
    epoch the ISR may differ, then the broker that has applied more wins.
    """
    newest: dict[Partition, tuple[tuple[int, int], PartitionView]] = {}
    for view in reachable(views):
        for partition, seen in view.partitions.items():
            age = (seen.leader_epoch, -1 if view.applied_offset is None else view.applied_offset)
            if partition not in newest or age > newest[partition][0]:
                newest[partition] = (age, seen)
    return {partition: seen for partition, (_, seen) in sorted(newest.items())}


def active_controller(views: Iterable[BrokerView]) -> int | None:
    """The controller of the highest epoch that anyone names; None when nobody knows one."""
    named = [
        (view.controller_epoch, view.controller)
        for view in reachable(views)
        if view.controller is not None and view.controller_epoch is not None
    ]
    return max(named)[1] if named else None


def high_watermark(views: Iterable[BrokerView]) -> int | None:
    """The highest end of committed metadata that anyone was told; None when nobody was told one."""
    ends = [view.metadata_high_watermark for view in reachable(views) if view.metadata_high_watermark is not None]
    return max(ends, default=None)


def disagreements(views: Sequence[BrokerView]) -> list[tuple[Partition, str]]:
    """Where brokers that answered name another (leader, epoch) than the newest answer: which partition, and how."""
    found = []
    current = leadership(views)
    for view in reachable(views):
        for partition, newest in current.items():
            seen = view.partitions.get(partition)
            if seen is None:
                found.append((partition, f"broker {view.broker} does not know {show(partition)}"))
            elif (seen.leader, seen.leader_epoch) != (newest.leader, newest.leader_epoch):
                said = (
                    f"{show(partition)}: broker {view.broker} says leader {seen.leader} in epoch {seen.leader_epoch},"
                )
                found.append((partition, f"{said} others {newest.leader} in epoch {newest.leader_epoch}"))
    return found


def show(partition: Partition) -> str:
    """As users write it: `orders/0`."""
    return f"{partition[0]}/{partition[1]}"
