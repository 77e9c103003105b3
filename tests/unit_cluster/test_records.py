"""Records of the metadata log, as Kafka 4.0 to 4.4 write them."""

from __future__ import annotations

import struct
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from metadata_bytes import (
    FENCED,
    NO_OP,
    STOPPING,
    UNFENCED,
    broker_change,
    framed,
    ints,
    leader_change,
    log_batch,
    partition,
    partition_change,
    register,
    text,
    topic,
)

from chaoskafka.cluster.replay import PartitionState, Replay
from chaoskafka.cluster.wire import records
from chaoskafka.cluster.wire.batches import Damaged, split
from chaoskafka.cluster.wire.records import decode, said_in

ORDERS = uuid.UUID(int=7)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_registration_reads_the_same_in_every_version(version: int) -> None:
    said = decode(register(3, 41, version=version))
    assert said == records.RegisterBroker(broker=3, broker_epoch=41, fenced=True, stopping=False)


@pytest.mark.parametrize(
    ("tagged", "fenced", "stopping"),
    [(FENCED, True, None), (UNFENCED, False, None), (STOPPING, None, True), ({}, None, None)],
)
def test_a_change_of_a_registration(tagged: dict[int, bytes], fenced: bool | None, stopping: bool | None) -> None:
    expected = records.BrokerChange(broker=2, broker_epoch=9, fenced=fenced, stopping=stopping)
    assert decode(broker_change(2, 9, tagged)) == expected


def test_what_a_later_release_adds_is_passed_over() -> None:
    """Cordoned directories (version 3, Kafka 4.3)."""
    said = decode(broker_change(2, 9, {**FENCED, 3: b"\x02" + bytes(16)}, version=3))
    assert said == records.BrokerChange(broker=2, broker_epoch=9, fenced=True)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_partition(version: int) -> None:
    said = decode(partition(ORDERS, 5, [1, 2, 3], leader=2, epoch=4, version=version))
    assert isinstance(said, records.Partition)
    assert (said.topic_id, said.partition, said.replicas, said.isr) == (ORDERS, 5, (1, 2, 3), (1, 2, 3))
    assert (said.leader, said.epoch, said.elr, said.recovering) == (2, 4, (), False)


def test_a_change_tells_what_changed_and_nothing_else() -> None:
    assert decode(partition_change(ORDERS, 0)) == records.PartitionChange(topic_id=ORDERS, partition=0)
    said = decode(partition_change(ORDERS, 0, leader=-1, isr=[], t5=b"\x01", t6=ints(2, 3), t8=b"\x01"))
    assert said == records.PartitionChange(topic_id=ORDERS, partition=0, leader=-1, isr=(), recovering=True, elr=(2, 3))
    assert decode(partition_change(ORDERS, 0, leader=-2)) == records.PartitionChange(topic_id=ORDERS, partition=0)


def test_topics_features_and_the_heartbeat() -> None:
    assert decode(topic("orders", ORDERS)) == records.Topic(name="orders", topic_id=ORDERS)
    assert decode(framed(9, 0, ORDERS.bytes)) == records.RemoveTopic(topic_id=ORDERS)
    feature = decode(framed(12, 0, text("metadata.version") + struct.pack(">h", 27)))
    assert feature == records.Feature(name="metadata.version", level=27)
    assert decode(NO_OP) == records.NoOp()
    assert decode(framed(4, 0, b"whatever")) == records.Other(type=4)


def test_a_new_leader_of_the_quorum_begins_with_a_control_batch() -> None:
    (batch,) = split(leader_change(17, 102, epoch=3))
    assert said_in(batch) == [(17, records.QuorumLeader(controller=102))]


def test_records_of_a_batch_bear_their_offsets() -> None:
    (batch,) = split(log_batch(40, NO_OP, topic("orders", ORDERS)))
    assert [offset for offset, _ in said_in(batch)] == [40, 41]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x02\x14\x00\x00",  # another frame
        b"\x01\x14",
        partition(ORDERS, 0, [1, 2, 3], leader=1)[:-5],
        register(1, 1, version=3)[:40],
        b"\x01\x03\x02" + struct.pack(">i", 0) + bytes(16) + b"\xff\xff\xff\xff\x0f",  # four billion replicas
        b"\x01" + b"\xff" * 12,
    ],
)
def test_damaged_records_are_told(value: bytes) -> None:
    with pytest.raises(Damaged):
        decode(value)


def test_the_log_of_a_real_cluster() -> None:
    """Of a controller of Kafka 4.2.2: three nodes formed, two topics were made, and each node was asked to stop."""
    kept: dict[Any, Any] = {}
    seen, replay = Counter[str](), Replay()
    for batch in split((Path(__file__).parent / "metadata-4.2.2.log").read_bytes()):
        for _, said in said_in(batch):
            seen[type(said).__name__] += 1
            for state in replay.apply(said):
                kept[(state.topic, state.partition) if isinstance(state, PartitionState) else state.broker] = state
    assert seen["Partition"] == len([key for key in kept if isinstance(key, tuple)]) == 56
    assert (seen["QuorumLeader"], seen["RegisterBroker"], seen["PartitionChange"]) == (1, 3, 168)
    assert all(kept[broker].stopping and kept[broker].fenced for broker in (1, 2, 3))
    last = kept["orders", 0]
    assert (last.leader, last.epoch, last.partition_epoch, last.isr, last.elr) == (-1, 2, 3, (), (1, 3))
