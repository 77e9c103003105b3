"""The whole audit against a broker by script: what a real one can hardly be made to say at the right moment."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import kio.schema.describe_cluster.v2.response as describe_cluster
import kio.schema.describe_quorum.v2.response as describe_quorum
import kio.schema.fetch.v17.response as fetch
import kio.schema.list_offsets.v9.response as list_offsets
import kio.schema.metadata.v13.response as metadata
import kio.schema.offset_for_leader_epoch.v4.response as log_end
import polars as pl
import pytest
from batch_bytes import batch, marker, record
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import Records, i32, i32Timedelta, i64
from scripted_broker import api_versions, body, scripted_broker

from chaoskafka.audit.whole import audit
from chaoskafka.clock import ManualClock
from chaoskafka.cluster.views import Views, kafka_uuid
from chaoskafka.history.header import TopicFacts
from chaoskafka.history.identity import Identity, encode, run_number
from chaoskafka.history.tables import AuditedEnd

RUN = run_number("scripted")
TOPIC_ID = uuid.UUID(int=77)
FACTS = TopicFacts(
    name="orders", index=0, topic_id=kafka_uuid(TOPIC_ID), partitions=1, replication_factor=2, min_insync_replicas=1
)
NO_WAIT = i32Timedelta.parse(timedelta(0))


def message(sequence: int) -> bytes:
    return encode(RUN, Identity(1, 1, 0, 0, sequence), 60)


@dataclass
class Log:
    """One partition, led by broker 1, as the script shows it; `on_fetch` may change it in between."""

    data: bytes = b""
    end: int = 0
    start: int = 0
    beyond: int | None = None  # log end when it is not the high watermark
    isr: tuple[int, ...] = (1,)
    epoch: int = 3
    fetch_error: ErrorCode = ErrorCode.none
    on_fetch: Callable[[Log], None] = lambda log: None
    fetches: int = 0
    asked: list[int] = field(default_factory=list)

    def answer(self, key: int, version: int) -> bytes:
        self.asked.append(key)
        return body(getattr(self, f"_api_{key}")())

    def _api_18(self) -> Any:
        return api_versions(50)

    def _api_3(self) -> Any:
        part = metadata.MetadataResponsePartition(
            error_code=ErrorCode.none,
            partition_index=i32(0),
            leader_id=BrokerId(1),
            leader_epoch=i32(self.epoch),
            replica_nodes=(BrokerId(1),),
            isr_nodes=tuple(map(BrokerId, self.isr)),
        )
        topic = metadata.MetadataResponseTopic(
            error_code=ErrorCode.none, name=TopicName("orders"), topic_id=TOPIC_ID, partitions=(part,)
        )
        return metadata.MetadataResponse(
            throttle_time=NO_WAIT, brokers=(), topics=(topic,), error_code=ErrorCode.none, cluster_id=None
        )

    def _api_60(self) -> Any:
        return describe_cluster.DescribeClusterResponse(
            throttle_time=NO_WAIT, error_code=ErrorCode.none, cluster_id="c", brokers=()
        )

    def _api_55(self) -> Any:
        return describe_quorum.DescribeQuorumResponse(
            error_code=ErrorCode.none, error_message=None, topics=(), nodes=()
        )

    def _api_2(self) -> Any:
        # EARLIEST and LATEST are asked in turn.
        offset = self.start if self.asked.count(2) % 2 else self.end
        part = list_offsets.ListOffsetsPartitionResponse(
            partition_index=i32(0), error_code=ErrorCode.none, offset=i64(offset)
        )
        topic = list_offsets.ListOffsetsTopicResponse(name=TopicName("orders"), partitions=(part,))
        return list_offsets.ListOffsetsResponse(throttle_time=NO_WAIT, topics=(topic,))

    def _api_23(self) -> Any:
        end = self.end if self.beyond is None else self.beyond
        part = log_end.EpochEndOffset(
            error_code=ErrorCode.none, partition=i32(0), leader_epoch=i32(self.epoch), end_offset=i64(end)
        )
        topic = log_end.OffsetForLeaderTopicResult(topic=TopicName("orders"), partitions=(part,))
        return log_end.OffsetForLeaderEpochResponse(throttle_time=NO_WAIT, topics=(topic,))

    def _api_1(self) -> Any:
        self.fetches += 1
        self.on_fetch(self)
        part = fetch.PartitionData(
            partition_index=i32(0),
            error_code=self.fetch_error,
            high_watermark=i64(self.end),
            aborted_transactions=None,
            records=Records(self.data) if self.fetch_error is ErrorCode.none else None,
        )
        topic = fetch.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=(part,))
        return fetch.FetchResponse(throttle_time=NO_WAIT, error_code=ErrorCode.none, responses=(topic,))


@contextmanager
def brokers(log: Log) -> Iterator[Views]:
    with scripted_broker(log.answer) as address:
        yield Views({1: address}, timeout_s=10.0)


def run_audit(log: Log, where: Path, *, within_s: float = 30, facts: TopicFacts = FACTS) -> AuditedEnd:
    with brokers(log) as views:
        (end,) = audit(where, views, [facts], run=RUN, within_s=within_s, clock=ManualClock())
    assert json.loads((where / "audit/ends.json").read_text())[0]["reason"] == end.reason
    return end


def sequences(where: Path) -> list[int]:
    return pl.read_parquet(where / "audit/record/orders-0.parquet")["sequence"].to_list()


TWO = (
    batch(0, [record(0, message(0)), record(1, message(1))], epoch=2) + marker(2, 1) + batch(3, [record(0, message(2))])
)


def test_a_log_with_a_marker_is_read_whole(tmp_path: Path) -> None:
    end = run_audit(Log(data=TWO, end=4), tmp_path)
    assert (end.whole, end.read_to, end.leader, end.leader_epoch) == (True, 4, 1, 3)
    assert sequences(tmp_path) == [0, 1, 2]
    batches = pl.read_parquet(tmp_path / "audit/batch/orders-0.parquet")
    assert batches["control"].to_list() == [None, 1, None]
    assert batches["leader_epoch"].to_list() == [2, 0, 0]


def test_a_log_that_starts_inside_a_batch(tmp_path: Path) -> None:
    end = run_audit(Log(data=TWO, start=1, end=4), tmp_path)
    assert (end.whole, end.log_start) == (True, 1)
    assert sequences(tmp_path) == [1, 2]


def test_what_lies_beyond_the_end_is_not_kept(tmp_path: Path) -> None:
    end = run_audit(Log(data=TWO, end=2), tmp_path)
    assert (end.whole, end.read_to) == (True, 2)
    assert sequences(tmp_path) == [0, 1]


def test_a_log_that_grows_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    def grow(log: Log) -> None:
        log.end = 4

    log = Log(data=TWO, end=2, on_fetch=grow)
    end = run_audit(log, tmp_path)
    assert (end.whole, end.end) == (True, 4)
    assert sequences(tmp_path) == [0, 1, 2]
    assert log.fetches == 2


def test_a_log_that_never_stops_growing_is_not_settled(tmp_path: Path) -> None:
    def grow(log: Log) -> None:
        log.end = 2 if log.end == 4 else 4

    end = run_audit(Log(data=TWO, end=2, on_fetch=grow), tmp_path)
    assert not end.settled
    assert "while it was read, its end moved" in end.reason


@pytest.mark.parametrize(
    ("log", "facts", "says"),
    [
        (Log(data=TWO, end=4, beyond=9), FACTS, "its log ends at 9, its high watermark is 4"),
        (Log(data=TWO, end=4, isr=()), FACTS, "isr [] is below min.insync.replicas 1"),
        (Log(data=TWO[:-1] + b"?", end=4), FACTS, "batch at offset 3 has a wrong CRC"),
        (Log(data=batch(0, [b"?"], attributes=3), end=1), FACTS, "batch 0 is compressed with lz4"),
        (Log(data=b"", end=4, fetch_error=ErrorCode.offset_out_of_range), FACTS, "offset_out_of_range"),
    ],
    ids=["uncommitted tail", "isr", "crc", "lz4", "out of range"],
)
def test_ends_that_are_not_trusted_and_why(log: Log, facts: TopicFacts, says: str, tmp_path: Path) -> None:
    end = run_audit(log, tmp_path, within_s=1.5, facts=facts)
    assert not end.whole
    assert not end.settled
    assert says in end.reason


def test_what_is_before_the_damage_is_kept(tmp_path: Path) -> None:
    end = run_audit(Log(data=TWO[:-1] + b"?", end=4), tmp_path, within_s=1.5)
    assert end.read_to == 3
    assert sequences(tmp_path) == [0, 1]


def test_passing_errors_are_waited_out(tmp_path: Path) -> None:
    def heal(log: Log) -> None:
        log.fetch_error = ErrorCode.none if log.fetches > 2 else ErrorCode.not_leader_or_follower

    log = Log(data=TWO, end=4, on_fetch=heal)
    assert run_audit(log, tmp_path).whole
    assert log.fetches == 3


def test_nobody_answers(tmp_path: Path) -> None:
    with scripted_broker(Log().answer) as address:
        views = Views({1: address})
    (end,) = audit(tmp_path, views, [FACTS], run=RUN, within_s=0.5, clock=ManualClock())
    assert not end.whole
    assert "no broker knows it; broker 1" in end.reason
