"""Watchers against a broker by script: every line an interval that holds the change."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import kio.schema.describe_cluster.v2.response as describe_cluster
import kio.schema.describe_quorum.v2.response as describe_quorum
import kio.schema.metadata.v13.response as metadata
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i32Timedelta, i64
from scripted_broker import Script, api_versions, body, scripted_broker

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.wire.stream import open_stream
from chaoskafka.probes.broker_views import Applied, Fields, Tally, Watch, Watcher, watches

Line = tuple[str, int, int, Fields]
NO_WAIT = i32Timedelta.parse(timedelta(0))
WATCHES = {watch.kind: watch for watch in watches(["orders"], every_s=0.005, slow_every_s=0.005)}


class Broker:
    """What the scripted broker shows. `changed_ns`: just before and just after it was made to show something else."""

    def __init__(self) -> None:
        self.epoch, self.leader, self.leader_epoch, self.named = 10, 1, 0, 0
        self.fenced, self.known, self.silent, self.quorum = False, True, False, (2, ErrorCode.none)
        self.changed_ns: list[tuple[int, int]] = []
        self._lock = threading.Lock()

    def change(self, **fields: Any) -> None:
        before = time.monotonic_ns()
        with self._lock:
            for name, value in fields.items():
                setattr(self, name, value)
        self.changed_ns.append((before, time.monotonic_ns()))

    def answer(self, key: int, version: int) -> bytes | None:
        with self._lock:
            if self.silent:
                raise ConnectionAbortedError
            return body({18: self._versions, 3: self._metadata, 60: self._cluster, 55: self._quorum}[key]())

    def _versions(self) -> Any:
        return api_versions(self.epoch)

    def _metadata(self) -> Any:
        self.named += 1  # a random live broker as controller: the bytes differ, the meaning does not
        part = metadata.MetadataResponsePartition(
            error_code=ErrorCode.none,
            partition_index=i32(0),
            leader_id=BrokerId(self.leader),
            leader_epoch=i32(self.leader_epoch),
            replica_nodes=(BrokerId(1), BrokerId(2)),
            isr_nodes=(BrokerId(1), BrokerId(2)),
        )
        error = ErrorCode.none if self.known else ErrorCode.unknown_topic_or_partition
        topic = metadata.MetadataResponseTopic(
            error_code=error, name=TopicName("orders"), topic_id=None, partitions=(part,) if self.known else ()
        )
        return metadata.MetadataResponse(
            throttle_time=NO_WAIT,
            brokers=(),
            controller_id=BrokerId(self.named % 100),
            topics=(topic,),
            error_code=ErrorCode.none,
            cluster_id=None,
        )

    def _cluster(self) -> Any:
        brokers = tuple(
            describe_cluster.DescribeClusterBroker(broker_id=BrokerId(b), host="h", port=i32(1), is_fenced=fenced)
            for b, fenced in ((1, False), (2, self.fenced))
        )
        return describe_cluster.DescribeClusterResponse(
            throttle_time=NO_WAIT, error_code=ErrorCode.none, cluster_id="c", brokers=brokers
        )

    def _quorum(self) -> Any:
        leader, error = self.quorum
        part = describe_quorum.PartitionData(
            partition_index=i32(0),
            error_code=error,
            error_message=None,
            leader_id=BrokerId(leader),
            leader_epoch=i32(0),
            high_watermark=i64(0),
            current_voters=(),
            observers=(),
        )
        topic = describe_quorum.TopicData(topic_name=TopicName("__cluster_metadata"), partitions=(part,))
        return describe_quorum.DescribeQuorumResponse(
            error_code=ErrorCode.none, error_message=None, topics=(topic,), nodes=()
        )


def watch(kind: str, script: Script, steps: list[Callable[[], None]]) -> list[Line]:
    """Run one watcher; after each further line, or a while without one, do the next step."""
    lines: list[Line] = []

    async def run(address: Address, what: Watch) -> None:
        tally = Tally()

        def write(*line: Any) -> None:
            lines.append(line)

        task = asyncio.create_task(Watcher(1, partial(open_stream, address), what, write, tally).run())
        for step in steps:
            polls, seen = tally.polls, len(lines)
            while len(lines) == seen and tally.polls < polls + 40:  # 40 polls without a change: there is none
                await asyncio.sleep(0.002)
                assert not task.done()
            await asyncio.to_thread(step)
        seen, deadline = len(lines), time.monotonic() + 10
        while len(lines) == seen and time.monotonic() < deadline:
            await asyncio.sleep(0.002)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with scripted_broker(script) as address:
        asyncio.run(asyncio.wait_for(run(address, WATCHES[kind]), 60))
    return lines


def test_a_new_leader_lies_inside_its_interval() -> None:
    broker = Broker()
    lines = watch("leadership", broker.answer, [lambda: None, lambda: broker.change(leader=2, leader_epoch=1)])
    assert [(fields["leader"], fields["epoch"]) for _, _, _, fields in lines] == [(1, 0), (2, 1)]
    _, lo_ns, hi_ns, fields = lines[1]
    before, after = broker.changed_ns[0]
    assert lo_ns < after
    assert hi_ns > before
    assert fields == {
        "broker": 1,
        "topic": "orders",
        "partition": 0,
        "leader": 2,
        "epoch": 1,
        "isr": [1, 2],
        "replicas": [1, 2],
    }


def test_a_topic_that_is_no_longer_known_has_no_leader() -> None:
    broker = Broker()
    lines = watch("leadership", broker.answer, [lambda: broker.change(known=False), lambda: broker.change(known=True)])
    assert [(fields["leader"], fields["epoch"], fields["isr"]) for _, _, _, fields in lines] == [
        (1, 0, [1, 2]),
        (-1, -1, []),
        (1, 0, [1, 2]),
    ]


def test_epochs_and_reachability() -> None:
    broker = Broker()
    steps = [
        lambda: None,
        lambda: broker.change(epoch=11),
        lambda: broker.change(silent=True),
        lambda: broker.change(silent=False),
    ]
    lines = watch("epoch", broker.answer, steps)
    assert [fields["offset"] for kind, _, _, fields in lines if kind == "epoch"] == [10, 11]
    reach = [line for line in lines if line[0] == "reachable"]
    assert [fields["up"] for _, _, _, fields in reach] == [True, False, True]
    assert reach[1][3]["error"]
    assert reach[2][3]["error"] is None
    for (before, after), (_, lo_ns, hi_ns, _) in zip(broker.changed_ns[1:], reach[1:], strict=True):
        assert lo_ns < after
        assert hi_ns > before
    assert reach[2][1] > reach[1][1]  # back after an attempt that failed, not since it was first seen


def test_fences() -> None:
    broker = Broker()
    lines = watch("fenced", broker.answer, [lambda: None, lambda: broker.change(fenced=True)])
    assert [(fields["broker"], fields["by"], fields["fenced"]) for _, _, _, fields in lines] == [
        (1, 1, False),
        (2, 1, False),
        (2, 1, True),
    ]


def test_a_controller_that_does_not_lead_answers_zeroes_and_counts_as_none() -> None:
    broker = Broker()
    steps = [
        lambda: broker.change(quorum=(0, ErrorCode.not_leader_or_follower)),
        lambda: broker.change(quorum=(3, ErrorCode.none)),
    ]
    lines = watch("controller", broker.answer, steps)
    assert [fields["controller"] for _, _, _, fields in lines] == [2, -1, 3]


def test_a_person_is_told_the_newest_leader_whoever_still_names_an_old_one() -> None:
    tally = Tally()
    for leader, epoch in ((1, 0), (-1, 1), (2, 2), (1, 0), (-1, -1)):  # a dead one's answers, and one that starts
        tally.hear_leader({"topic": "orders", "partition": 0, "leader": leader, "epoch": epoch})
    assert tally.led == {"orders/0": (2, 2)}


def both(steps: Callable[[Broker, Tally], None]) -> tuple[Broker, list[Line], int]:
    """Watch what a broker has applied, and its leaders, which are asked for at other times only after a minute."""
    broker, lines, asked = Broker(), list[Line](), list[int]()
    paced, leaders = watches(["orders"], every_s=0.005, slow_every_s=60.0)[:2]

    def script(key: int, version: int) -> bytes | None:
        asked.append(key)
        return broker.answer(key, version)

    async def run(address: Address) -> None:
        tally, applied = Tally(), Applied()
        opens = partial(open_stream, address)
        tasks = [
            asyncio.create_task(Watcher(1, opens, what, lambda *line: lines.append(line), tally, applied).run())
            for what in (paced, leaders)
        ]
        await asyncio.to_thread(steps, broker, tally)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    with scripted_broker(script) as address:
        asyncio.run(asyncio.wait_for(run(address), 60))
    return broker, lines, asked.count(3)


def wait_polls(tally: Tally, more: int) -> None:
    wanted = tally.polls + more
    wait_until("polls", read=lambda: tally.polls, good=lambda polls: polls >= wanted, within_s=30, every_s=0.002)


def test_leaders_are_asked_for_when_more_was_applied_and_the_change_lies_after_the_last_poll_that_showed_less() -> None:
    def steps(broker: Broker, tally: Tally) -> None:
        wait_polls(tally, 40)
        broker.change(leader=2, leader_epoch=1, epoch=11)
        wait_polls(tally, 40)

    broker, lines, metadata_polls = both(steps)
    told = [line for line in lines if line[0] == "leadership"]
    assert [(fields["leader"], fields["epoch"]) for *_, fields in told] == [(1, 0), (2, 1)]
    assert metadata_polls <= 4  # at the start, at the first offset that was seen, and at the second
    (first, second), (before, after) = told, broker.changed_ns[0]
    assert second[1] < after
    assert second[2] > before
    epochs = [line for line in lines if line[0] == "epoch"]
    assert second[1] == epochs[-1][1], "the last poll that showed the offset before it"
    assert second[1] > first[2]


def test_what_another_offset_showed_says_nothing() -> None:
    applied = Applied()
    assert applied.showed_ns(None, 0) == 0
    applied.show(10, 5)
    applied.show(10, 9)
    assert (applied.showed_ns(10, 8), applied.showed_ns(10, 9), applied.showed_ns(11, 0)) == (9, 0, 0)
    moved = applied.moved
    applied.show(11, 20)
    assert moved.is_set()
    assert not applied.moved.is_set()
    assert (applied.showed_ns(10, 8), applied.showed_ns(11, 8)) == (9, 20)
