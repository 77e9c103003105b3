"""The audit of a real log: every record and batch, control batches too, and what it says of ends it cannot trust."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from confluent_kafka import Producer

from chaoskafka.audit.whole import audit
from chaoskafka.clock import MonotonicClock, wait_until
from chaoskafka.cluster.abilities import CanKill, Cluster
from chaoskafka.cluster.admin import Admin, make_topics
from chaoskafka.cluster.ready import wait_recovered
from chaoskafka.cluster.sights import leadership
from chaoskafka.cluster.spec import TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.history import tables
from chaoskafka.history.header import TopicFacts
from chaoskafka.history.identity import Identity, PayloadState, encode, run_number
from chaoskafka.history.tables import AuditedEnd

pytestmark = pytest.mark.docker
CLOCK = MonotonicClock()
RUN = run_number("audited")


def made(admin: Admin, views: Views, name: str, partitions: int = 2) -> TopicFacts:
    ids = make_topics(admin, views, {name: TopicSpec(partitions=partitions)}, within_s=120, clock=CLOCK)
    return TopicFacts(
        name=name, index=4, topic_id=ids[name], partitions=partitions, replication_factor=3, min_insync_replicas=2
    )


def producer(views: Views, **more: object) -> Producer:
    servers = ",".join(map(str, views.addresses.values()))
    return Producer({"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 0, **more})


def payload(partition: int, sequence: int) -> bytes:
    return encode(RUN, Identity(1, 2, 4, partition, sequence), 100)


def run_audit(where: Path, views: Views, *topics: TopicFacts, within_s: float = 40) -> list[AuditedEnd]:
    return audit(where, views, topics, run=RUN, within_s=within_s, clock=CLOCK)


def test_every_record_is_found_with_its_identity(views: Views, admin: Admin, tmp_path: Path) -> None:
    facts = made(admin, views, "whole")
    client = producer(views)
    for sequence in range(500):
        for partition in range(2):
            client.produce("whole", payload(partition, sequence), partition=partition)
    client.produce("whole", b"somebody else's", partition=0)
    client.produce("whole", encode(RUN + 1, Identity(1, 1, 4, 0, 7), 60), key=b"k", partition=0, headers={"h": b"v"})
    client.produce("whole", payload(0, 500)[:-1], partition=0)
    assert client.flush(30) == 0
    first, second = run_audit(tmp_path, views, facts)
    assert (first.whole, first.end, first.log_start) == (True, 503, 0), first
    assert (second.whole, second.end, second.reason) == (True, 500, "")
    records = pl.read_parquet(tmp_path / "audit/record/whole-0.parquet").match_to_schema(tables.RECORD)
    ours = records.filter(pl.col("state") == PayloadState.OURS)
    assert ours["sequence"].to_list() == list(range(500))
    assert ours.select(pl.col("sent_topic", "sent_partition").n_unique()).row(0) == (1, 1)
    assert records["offset"].to_list() == list(range(503))
    assert records["state"].to_list()[500:] == [PayloadState.FOREIGN, PayloadState.OTHER_RUN, PayloadState.TORN]
    assert records["sent_topic"].to_list()[500:] == [None] * 3
    batches = pl.read_parquet(tmp_path / "audit/batch/whole-0.parquet").match_to_schema(tables.BATCH)
    assert batches["count"].sum() == 503
    assert batches["control"].null_count() == batches.height
    assert batches["producer_id"].n_unique() == 1
    assert [AuditedEnd(**row) for row in json.loads((tmp_path / "audit/ends.json").read_text())] == [first, second]


def test_an_empty_partition_is_whole(views: Views, admin: Admin, tmp_path: Path) -> None:
    (end,) = run_audit(tmp_path, views, made(admin, views, "empty", partitions=1))
    assert (end.whole, end.end, end.read_to) == (True, 0, 0)
    assert pl.read_parquet(tmp_path / "audit/record/empty-0.parquet").match_to_schema(tables.RECORD).is_empty()


def test_markers_of_transactions_are_kept(views: Views, admin: Admin, tmp_path: Path) -> None:
    facts = made(admin, views, "transacted", partitions=1)
    client = producer(views, **{"transactional.id": "audited"})
    client.init_transactions(30)
    for sequence, end in enumerate((client.commit_transaction, client.abort_transaction)):
        client.begin_transaction()
        client.produce("transacted", payload(0, sequence), partition=0)
        client.flush(30)
        end(30)
    (end_of_log,) = run_audit(tmp_path, views, facts)
    assert (end_of_log.whole, end_of_log.end) == (True, 4)
    batches = pl.read_parquet(tmp_path / "audit/batch/transacted-0.parquet")
    assert batches["control"].to_list() == [None, 1, None, 0]
    assert batches["transactional"].all()
    assert pl.read_parquet(tmp_path / "audit/record/transacted-0.parquet")["sequence"].to_list() == [0, 1]


@pytest.mark.parametrize(("codec", "reason"), [("gzip", ""), ("lz4", "compressed with lz4")])
def test_compressed_batches_are_read_or_said_to_be_unreadable(
    views: Views, admin: Admin, tmp_path: Path, codec: str, reason: str
) -> None:
    facts = made(admin, views, f"packed-{codec}", partitions=1)
    client = producer(views, **{"compression.type": codec, "linger.ms": 100})
    for sequence in range(50):
        client.produce(facts.name, payload(0, sequence), partition=0)
    assert client.flush(30) == 0
    (end,) = run_audit(tmp_path, views, facts, within_s=10)
    assert end.whole == (not reason)
    assert reason in end.reason
    assert pl.read_parquet(tmp_path / f"audit/record/{facts.name}-0.parquet").height == (0 if reason else 50)


def test_a_topic_that_was_made_anew_is_not_the_one_under_test(views: Views, admin: Admin, tmp_path: Path) -> None:
    facts = made(admin, views, "anew", partitions=1)
    other = TopicFacts(**{**{f: getattr(facts, f) for f in facts.__slots__}, "topic_id": "AAAAAAAAAAAAAAAAAAAAAA"})
    (end,) = run_audit(tmp_path, views, other, within_s=2)
    assert not end.whole
    assert "another one now" in end.reason


def test_without_min_isr_no_end_is_trusted(three: Cluster, views: Views, admin: Admin, tmp_path: Path) -> None:
    facts = made(admin, views, "thin", partitions=1)
    client = producer(views)
    client.produce("thin", payload(0, 0), partition=0)
    assert client.flush(30) == 0
    strict = TopicFacts(**{**{f: getattr(facts, f) for f in facts.__slots__}, "min_insync_replicas": 3})
    seen = leadership(views.ask_all(["thin"]))["thin", 0]
    follower = next(broker for broker in seen.isr if broker != seen.leader)
    node = three.nodes[follower]
    assert isinstance(node, CanKill)
    node.kill()
    try:
        wait_until(
            "the ISR to shrink",
            read=lambda: leadership(views.ask_all(["thin"]))["thin", 0].isr,
            good=lambda isr: follower not in isr,
            within_s=60,
        )
        (end,) = run_audit(tmp_path, views, strict, within_s=16)
        assert not end.settled
        assert "min.insync.replicas 3" in end.reason
        assert end.read_to == end.end == 1  # what is there is read all the same
        (enough,) = run_audit(tmp_path, views, facts, within_s=16)
        assert enough.whole, enough
    finally:
        node.start(within_s=60)
        wait_recovered(views, three.spec, within_s=180, clock=CLOCK)
