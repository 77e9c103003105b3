"""The metadata log replayed: records in the order of their offsets in, what stands now out. Pure; holds state.

A PartitionChange carries no epochs: each raises the partition epoch by one, and one that names a leader, also none or
the same one, the leader epoch (K: metadata/…/PartitionRegistration.merge). So they are counted from the PartitionRecord
on, as every broker does.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

from chaoskafka.cluster.wire import records
from chaoskafka.cluster.wire.records import Said


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """One partition as the log has it."""

    topic: str
    partition: int
    leader: int
    epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    elr: tuple[int, ...]
    recovering: bool  # its leader was elected uncleanly


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerState:
    """One broker's registration as the log has it."""

    broker: int
    broker_epoch: int
    fenced: bool
    stopping: bool  # in controlled shutdown


State: TypeAlias = PartitionState | BrokerState


class Replay:
    """Applies one record after the other; not for several threads at once.

    What refers to a topic, partition or broker that the log never named is passed over.
    """

    def __init__(self) -> None:
        self._topics: dict[uuid.UUID, str] = {}
        self._partitions: dict[tuple[uuid.UUID, int], PartitionState] = {}
        self._brokers: dict[int, BrokerState] = {}

    def apply(self, said: Said) -> Iterator[State]:
        """What stands now of whatever the record concerns; nothing for records of other kinds."""
        match said:
            case records.Topic():
                self._topics[said.topic_id] = said.name
            case records.RemoveTopic():
                self._topics.pop(said.topic_id, None)
                for key in [key for key in self._partitions if key[0] == said.topic_id]:
                    del self._partitions[key]
            case records.Partition() | records.PartitionChange():
                yield from self._partition(said)
            case records.RegisterBroker() | records.BrokerChange():
                yield from self._broker(said)
            case records.UnregisterBroker():
                self._brokers.pop(said.broker, None)
            case _:
                pass

    def _partition(self, said: records.Partition | records.PartitionChange) -> Iterator[State]:
        key = (said.topic_id, said.partition)
        topic = self._topics.get(said.topic_id)
        if isinstance(said, records.Partition) and topic is not None:
            self._partitions[key] = PartitionState(
                topic=topic,
                partition=said.partition,
                leader=said.leader,
                epoch=said.epoch,
                partition_epoch=said.partition_epoch,
                isr=said.isr,
                replicas=said.replicas,
                elr=said.elr,
                recovering=said.recovering,
            )
        elif isinstance(said, records.PartitionChange) and key in self._partitions:
            self._partitions[key] = _merged(self._partitions[key], said)
        else:
            return
        yield self._partitions[key]

    def _broker(self, said: records.RegisterBroker | records.BrokerChange) -> Iterator[State]:
        if isinstance(said, records.RegisterBroker):
            state = BrokerState(
                broker=said.broker, broker_epoch=said.broker_epoch, fenced=said.fenced, stopping=said.stopping
            )
        elif (old := self._brokers.get(said.broker)) is not None:
            state = replace(
                old,
                fenced=old.fenced if said.fenced is None else said.fenced,
                stopping=old.stopping if said.stopping is None else said.stopping,
            )
        else:
            return
        self._brokers[said.broker] = state
        yield state


def lines_of(replay: Replay, said: Said) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A record as the run directory keeps it (`history.observations`): kind and fields; nothing of what it does not."""
    match said:
        case records.NoOp():
            yield "log_noop", {}
        case records.QuorumLeader():
            yield "log_leader", {"controller": said.controller}
        case records.Feature():
            yield "log_feature", {"name": said.name, "level": said.level}
        case _:
            yield from map(_line, replay.apply(said))


def _line(state: State) -> tuple[str, Mapping[str, Any]]:
    if isinstance(state, BrokerState):
        return "log_broker", asdict(state)
    plain = asdict(state)
    return "log_partition", {**plain, **{name: list(plain[name]) for name in ("isr", "replicas", "elr")}}


def _merged(old: PartitionState, change: records.PartitionChange) -> PartitionState:
    return replace(
        old,
        leader=old.leader if change.leader is None else change.leader,
        epoch=old.epoch + (change.leader is not None),
        partition_epoch=old.partition_epoch + 1,
        isr=old.isr if change.isr is None else change.isr,
        replicas=old.replicas if change.replicas is None else change.replicas,
        elr=old.elr if change.elr is None else change.elr,
        recovering=old.recovering if change.recovering is None else change.recovering,
    )
