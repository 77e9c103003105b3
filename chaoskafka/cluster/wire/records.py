"""Records of the metadata log: a record's bytes in, what it says out. Pure.

Frame: uvarint 1, uvarint type, uvarint version, then the message in Kafka's flexible encoding (AbstractApiMessageSerde;
schemas: metadata/src/main/resources/common/metadata/*.json). Kafka 4.0 to 4.4 write the same versions of all that is
read here, but for fields at the end of two of them, which are tagged and passed over. What nobody asks for is `Other`.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from chaoskafka.cluster.wire.batches import Batch, Damaged, control_type, records
from chaoskafka.cluster.wire.flexible import Reader

FRAME = 1
NO_CHANGE = -2  # a PartitionChange that leaves the leader as it is
LEADER_CHANGE = 2  # control record: a new leader of the quorum (KIP-595)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBroker:
    """A broker's process has registered."""

    broker: int
    broker_epoch: int
    fenced: bool
    stopping: bool  # in controlled shutdown


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBroker:
    """A broker is no longer one of the cluster."""

    broker: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerChange:
    """A registration changed. None: that did not."""

    broker: int
    broker_epoch: int
    fenced: bool | None = None
    stopping: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic was made."""

    name: str
    topic_id: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTopic:
    """A topic, and all its partitions, are gone."""

    topic_id: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition, whole. It alone states its leader epoch; changes only make it rise."""

    topic_id: uuid.UUID
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    epoch: int
    partition_epoch: int
    recovering: bool
    elr: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChange:
    """A partition changed. None: that did not. The leader epoch is not in it (see `cluster.replay`)."""

    topic_id: uuid.UUID
    partition: int
    leader: int | None = None
    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    recovering: bool | None = None
    elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A feature's finalized level."""

    name: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumLeader:
    """The first record of each leader of the quorum."""

    controller: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOp:
    """The active controller lives (metadata.max.idle.interval.ms)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """A record that nobody here asks for."""

    type: int


Said: TypeAlias = (
    RegisterBroker
    | UnregisterBroker
    | BrokerChange
    | Topic
    | RemoveTopic
    | Partition
    | PartitionChange
    | Feature
    | QuorumLeader
    | NoOp
    | Other
)


def said_in(batch: Batch) -> list[tuple[int, Said]]:
    """What the records of a batch say, each with its offset. Raises Damaged."""
    if not batch.control:
        return [(offset, decode(value or b"")) for offset, _, _, value in records(batch)]
    if control_type(batch) != LEADER_CHANGE:
        return [(offset, Other(type=-1)) for offset, _, _, _ in records(batch)]
    return [(offset, _leader_change(value or b"")) for offset, _, _, value in records(batch)]


def decode(value: bytes) -> Said:
    """One record. Raises Damaged when it ends early, or is in a frame that we do not know."""
    reader = Reader(value)
    try:
        if reader.uvarint() != FRAME:
            raise Damaged("a metadata record in an unknown frame")
        number, version = reader.uvarint(), reader.uvarint()
        read = _READ.get(number)
        return read(reader, version) if read else Other(type=number)
    except (IndexError, struct.error, UnicodeDecodeError) as broken:
        raise Damaged(f"a metadata record of {len(value)} bytes cannot be read: {broken}") from broken


def _register(reader: Reader, version: int) -> Said:
    broker = reader.number(">i")
    if version >= 2:
        reader.number(">b")  # of ZooKeeper's time
    reader.uuid()  # the incarnation
    epoch = reader.number(">q")
    for _ in range(reader.count()):  # listeners: name, host, port, protocol
        reader.text()
        reader.text()
        reader.raw(4)
        reader.tags()
    for _ in range(reader.count()):  # features: name, lowest, highest
        reader.text()
        reader.raw(4)
        reader.tags()
    reader.text()  # rack
    fenced = bool(reader.number(">b"))
    stopping = bool(reader.number(">b")) if version >= 1 else False
    return RegisterBroker(broker=broker, broker_epoch=epoch, fenced=fenced, stopping=stopping)


def _unregister(reader: Reader, _: int) -> Said:
    return UnregisterBroker(broker=reader.number(">i"))


def _broker_change(reader: Reader, _: int) -> Said:
    broker, epoch = reader.number(">i"), reader.number(">q")
    tags = reader.tags()
    changes = {tag: tags[tag].number(">b") for tag in (0, 1) if tag in tags}
    return BrokerChange(
        broker=broker,
        broker_epoch=epoch,
        fenced={1: True, -1: False}.get(changes.get(0, 0)),
        stopping=True if changes.get(1) else None,
    )


def _topic(reader: Reader, _: int) -> Said:
    return Topic(name=reader.text(), topic_id=reader.uuid())


def _remove_topic(reader: Reader, _: int) -> Said:
    return RemoveTopic(topic_id=reader.uuid())


def _partition(reader: Reader, version: int) -> Said:
    number, topic_id = reader.number(">i"), reader.uuid()
    replicas, isr = reader.ints(), reader.ints()
    reader.ints()  # being removed
    reader.ints()  # being added
    leader, epoch, partition_epoch = reader.number(">i"), reader.number(">i"), reader.number(">i")
    if version >= 1:
        reader.raw(16 * reader.count())  # directories (KIP-858)
    tags = reader.tags()
    return Partition(
        topic_id=topic_id,
        partition=number,
        replicas=replicas,
        isr=isr,
        leader=leader,
        epoch=epoch,
        partition_epoch=partition_epoch,
        recovering=bool(tags[0].number(">b")) if 0 in tags else False,
        elr=tags[1].ints() if 1 in tags else (),
    )


def _partition_change(reader: Reader, _: int) -> Said:
    number, topic_id = reader.number(">i"), reader.uuid()
    tags = reader.tags()
    leader = tags[1].number(">i") if 1 in tags else NO_CHANGE
    return PartitionChange(
        topic_id=topic_id,
        partition=number,
        leader=None if leader == NO_CHANGE else leader,
        isr=tags[0].ints() if 0 in tags else None,
        replicas=tags[2].ints() if 2 in tags else None,
        recovering=bool(tags[5].number(">b")) if 5 in tags else None,
        elr=tags[6].ints() if 6 in tags else None,
    )


def _feature(reader: Reader, _: int) -> Said:
    return Feature(name=reader.text(), level=reader.number(">h"))


def _leader_change(value: bytes) -> Said:
    try:
        reader = Reader(value)
        reader.number(">h")  # version
        return QuorumLeader(controller=reader.number(">i"))
    except struct.error as broken:
        raise Damaged(f"a change of the quorum's leader cannot be read: {broken}") from broken


_READ: Mapping[int, Callable[[Reader, int], Said]] = {
    0: _register,
    1: _unregister,
    2: _topic,
    3: _partition,
    5: _partition_change,
    9: _remove_topic,
    12: _feature,
    17: _broker_change,
    20: lambda _, __: NoOp(),
}
