"""Whether a condition holds, by what every broker said. Pure: asking the brokers is the caller's work.

In: a `Condition`, the brokers' newest answers, and what was before. Out: what is missing. Nodes that a fault hit are
not asked: what a broker says of itself that was cut off, or is about to die, is no proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from chaoskafka.cluster import ready, sights
from chaoskafka.cluster.conditions import Condition, Word
from chaoskafka.cluster.sights import NO_LEADER, BrokerView, Partition, PartitionView, show
from chaoskafka.cluster.spec import ClusterSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a condition is judged by besides the brokers' newest answers."""

    spec: ClusterSpec
    before: Mapping[Partition, PartitionView]  # leadership before the fault, or before the wait
    internal: frozenset[str]  # topics that Kafka itself made
    targets: frozenset[int] | None  # the nodes that the fault hit; None: there is no fault, a step is waited with

    @classmethod
    def of(cls, spec: ClusterSpec, before: Sequence[BrokerView], targets: frozenset[int] | None) -> Scene:
        """By what every broker said before."""
        internal = frozenset[str]().union(*(view.internal for view in before))
        return cls(spec=spec, before=sights.leadership(before), internal=internal, targets=targets)


def reader(condition: Condition, ask: Callable[[], Sequence[BrokerView]], scene: Scene) -> Callable[[], list[str]]:
    """What asks the brokers anew each time it is called, and says what is missing then."""
    mark: int | None = None

    def read() -> list[str]:
        nonlocal mark
        now = ask()
        found = missing(condition, now, scene, mark)
        mark = sights.high_watermark(now)
        return found

    return read


def missing(condition: Condition, now: Sequence[BrokerView], scene: Scene, mark: int | None) -> list[str]:
    """What keeps a condition from holding; nothing: it holds.

    `mark`: the end of committed metadata as of a round before; None: not known yet.
    """
    hit = scene.targets or frozenset()
    asked = [view for view in sights.reachable(now) if view.broker not in hit]
    if not asked:
        return ["no broker answers"]
    if condition.word is Word.RECOVERED:
        return list(ready.recovered(now, scene.spec, mark).missing)
    if condition.word is Word.QUORUM_CAUGHT_UP:
        return list(_behind(asked, scene.spec, mark))
    return list(_OF_VIEWS[condition.word](condition, asked, scene))


def _fenced(condition: Condition, asked: Sequence[BrokerView], scene: Scene) -> Iterator[str]:
    if condition.number is None and scene.targets is None:
        if not any(any(view.fenced.values()) for view in asked):
            yield "no broker is fenced"
        return
    wanted = {condition.number} if condition.number is not None else set(scene.targets or ())
    brokers = sorted(wanted & set(scene.spec.broker_ids))
    if not brokers:
        yield "no broker was hit"
    for view in asked:
        for broker in brokers:
            # A stopped broker that never registers again is left out of the answer after a while.
            if broker != view.broker and not view.fenced.get(broker, True):
                yield f"broker {view.broker} does not call broker {broker} fenced"


def _leader_changed(condition: Condition, asked: Sequence[BrokerView], scene: Scene) -> Iterator[str]:
    hit = scene.targets or frozenset()
    partitions = (
        [condition.partition] if condition.partition else [p for p, s in scene.before.items() if s.leader in hit]
    )
    if not partitions:
        yield "the nodes that were hit led nothing" if scene.targets is not None else "it takes a partition"
    for partition in partitions:
        old = scene.before.get(partition)
        for view in asked:
            seen = view.partitions.get(partition)
            if old is None or seen is None:
                yield f"{show(partition)} is not known"
            elif seen.leader_epoch <= old.leader_epoch or seen.leader in (NO_LEADER, old.leader):
                yield f"{show(partition)}: broker {view.broker} names {seen.leader} in epoch {seen.leader_epoch}"


def _isr_full(condition: Condition, asked: Sequence[BrokerView], _: Scene) -> Iterator[str]:
    for view in asked:
        for partition, seen in view.partitions.items():
            if condition.topic in (None, partition[0]) and not seen.has_full_isr:
                yield f"{show(partition)}: isr {list(seen.isr)} of {list(seen.replicas)}, says broker {view.broker}"


def _isr_is(condition: Condition, asked: Sequence[BrokerView], scene: Scene) -> Iterator[str]:
    newest = sights.leadership(asked)
    partitions = [condition.partition] if condition.partition else [p for p in newest if p[0] not in scene.internal]
    sizes = {partition: len(newest[partition].isr) for partition in partitions if partition in newest}
    if condition.number not in sizes.values():
        yield ", ".join(f"{show(p)} has {size} in sync" for p, size in sizes.items()) or "no partition is known"


def _behind(asked: Sequence[BrokerView], spec: ClusterSpec, mark: int | None) -> Iterator[str]:
    told = [view for view in asked if view.voters]
    if mark is None or not told:
        yield "no active controller has told how far the quorum is"
        return
    newest = max(told, key=lambda view: (view.controller_epoch or 0, view.metadata_high_watermark or 0))
    for node in (member.node_id for member in spec.members if member.is_controller):
        end = newest.voters.get(node)
        if end is None or end < mark:
            yield f"controller {node} has metadata to {end}, committed is {mark}"


_OF_VIEWS: Mapping[Word, Callable[[Condition, Sequence[BrokerView], Scene], Iterator[str]]] = {
    Word.FENCED: _fenced,
    Word.LEADER_CHANGED: _leader_changed,
    Word.ISR_FULL: _isr_full,
    Word.ISR_IS: _isr_is,
}
