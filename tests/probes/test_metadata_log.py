"""The reader of the metadata log: what it writes of answers by script, through every turn that a quorum takes."""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from typing import Any

import kio.schema.fetch.v18.request as fetch_request
import kio.schema.fetch.v18.response as fetch
import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader
from kio.static.primitive import i32, i32Timedelta, i64
from metadata_bytes import (
    FENCED,
    NO_OP,
    STOPPING,
    broker_change,
    leader_change,
    log_batch,
    partition,
    partition_change,
    register,
    topic,
)
from scripted_broker import OFFERED, api_versions, body, scripted_broker

from chaoskafka.cluster.wire import asks, frames
from chaoskafka.cluster.wire.stream import Exchange, open_stream
from chaoskafka.probes.broker_views import Fields
from chaoskafka.probes.metadata_log import Follower, MergedLog

ORDERS = uuid.UUID(int=7)
BEGINNING = leader_change(0, 1, epoch=1) + log_batch(
    1, register(1, 1, version=4), topic("orders", ORDERS), partition(ORDERS, 0, [1, 2, 3], leader=1)
)
FENCE = log_batch(4, partition_change(ORDERS, 0, leader=2, isr=[2, 3]), broker_change(1, 1, FENCED))


def answer(records: bytes = b"", *, end: int = 0, **fields: Any) -> Any:
    """A partition's answer: records, and the high watermark `end`."""
    return fetch.PartitionData(
        **{
            "partition_index": i32(0),
            "error_code": ErrorCode.none,
            "high_watermark": i64(end),
            "aborted_transactions": None,
            "records": records,
            **fields,
        }
    )


class Reading:
    """A MergedLog that is given answers, and what it wrote."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int, int, Fields]] = []
        self.log = MergedLog(lambda *line: self.lines.append(line), epoch=1)
        self.clock = itertools.count(time.monotonic_ns(), 1000)

    def take(self, part: Any, *, by: int = 1) -> Exchange:
        found = Exchange(sent_ns=next(self.clock), received_ns=next(self.clock), body=b"")
        self.log.take(by, self.log.place, found, part)
        return found

    def written(self, kind: str) -> list[tuple[int, int, Fields]]:
        return [line[1:] for line in self.lines if line[0] == kind]

    def kinds(self) -> list[str]:
        return [line[0] for line in self.lines]


def test_every_record_is_a_line_and_epochs_are_counted() -> None:
    reading = Reading()
    reading.take(answer(BEGINNING, end=4))
    reading.take(answer(FENCE, end=4))
    (_, _, made), (_, _, moved) = reading.written("log_partition")
    assert (made["topic"], made["leader"], made["epoch"], made["isr"]) == ("orders", 1, 0, [1, 2, 3])
    assert (moved["leader"], moved["epoch"], moved["partition_epoch"], moved["isr"]) == (2, 1, 1, [2, 3])
    assert (moved["offset"], moved["last_offset"], moved["quorum_epoch"], moved["by"]) == (4, 5, 1, 1)
    assert [fields["fenced"] for _, _, fields in reading.written("log_broker")] == [True, True]
    assert [fields["controller"] for _, _, fields in reading.written("log_leader")] == [1]
    assert (reading.log.offset, reading.log.last_epoch) == (6, 1)


def test_a_record_lies_between_its_timestamp_and_its_arrival() -> None:
    reading = Reading()
    reading.take(answer(BEGINNING, end=4))
    stamped_ms = time.time_ns() // 1_000_000 - 30
    found = reading.take(answer(log_batch(4, NO_OP, stamped_ms=stamped_ms), end=4))
    ((lo_ns, hi_ns, fields),) = reading.written("log_noop")
    assert hi_ns == found.received_ns
    assert 0.02e9 < time.monotonic_ns() - lo_ns < 60e9
    assert fields["stamped_ms"] == stamped_ms


def test_a_commit_lies_between_the_last_answer_without_it_and_the_first_with_it() -> None:
    reading = Reading()
    reading.take(answer(BEGINNING, end=4))
    before = reading.take(answer(FENCE, end=4))
    assert [fields["last_offset"] for _, _, fields in reading.written("log_committed")] == [0, 3]
    after = reading.take(answer(end=6))
    assert reading.written("log_committed")[-1] == (before.sent_ns, after.received_ns, {"last_offset": 5})


def test_what_was_never_committed_is_cut_and_the_rest_is_not_told_twice() -> None:
    """A leader that was cut off goes on writing; the next one has something else there."""
    reading = Reading()
    reading.take(answer(BEGINNING, end=4))
    reading.take(answer(FENCE, end=4))
    reading.log.epoch = 2
    reading.take(answer(diverging_epoch=fetch.EpochEndOffset(epoch=i32(1), end_offset=i64(4))), by=2)
    ((_, _, cut),) = reading.written("log_cut")
    assert (cut["offset"], cut["by"], cut["quorum_epoch"]) == (4, 2, 2)
    assert (reading.log.place.offset, reading.log.place.last_epoch) == (0, 0)
    before = len(reading.lines)
    late = leader_change(4, 2, epoch=2) + log_batch(5, partition_change(ORDERS, 0, leader=3), epoch=2)
    reading.take(answer(BEGINNING + late, end=6), by=2)
    assert reading.kinds()[before:] == ["log_leader", "log_partition", "log_committed", "log_committed"]
    last = reading.written("log_partition")[-1][2]
    assert (last["leader"], last["epoch"], last["isr"]) == (3, 1, [1, 2, 3]), "the fence was never in the log"


def test_a_whole_epoch_that_the_new_leader_never_had_is_cut_from_its_beginning() -> None:
    """Ours: epoch 1 to 3, epoch 2 from 4 on. Theirs: epoch 1 to 5, then epoch 3."""
    reading = Reading()
    reading.take(answer(BEGINNING, end=4))
    reading.log.epoch = 2
    reading.take(answer(leader_change(4, 2, epoch=2) + log_batch(5, NO_OP, NO_OP, epoch=2), end=4), by=2)
    reading.log.epoch = 3
    reading.take(answer(diverging_epoch=fetch.EpochEndOffset(epoch=i32(1), end_offset=i64(6))), by=3)
    assert reading.written("log_cut")[0][2]["offset"] == 4
    before = len(reading.lines)
    reading.take(answer(BEGINNING + FENCE + leader_change(6, 3, epoch=3), end=7), by=3)
    assert reading.kinds()[before:][:3] == ["log_partition", "log_broker", "log_leader"]


def test_an_answer_that_another_controller_has_overtaken_is_dropped() -> None:
    reading = Reading()
    asked = reading.log.place
    reading.take(answer(BEGINNING, end=4))
    written = len(reading.lines)
    reading.log.take(1, asked, Exchange(sent_ns=1, received_ns=2, body=b""), answer(BEGINNING, end=4))
    reading.log.epoch = 2
    reading.log.take(
        1, asks.MetadataFrom(epoch=1, offset=4, last_epoch=1, high_watermark=4, bytes_max=1, wait_ms=1),
        Exchange(sent_ns=1, received_ns=2, body=b""), answer(FENCE, end=6),
    )  # fmt: skip
    assert len(reading.lines) == written


def test_batches_from_before_the_place_asked_for_are_not_told_again() -> None:
    reading = Reading()
    reading.take(answer(BEGINNING, end=4))
    reading.take(answer(BEGINNING + FENCE, end=6))
    assert len(reading.written("log_partition")) == 2


def test_a_log_that_begins_with_a_snapshot_is_read_on_behind_it() -> None:
    reading = Reading()
    reading.take(answer(snapshot_id=fetch.SnapshotId(end_offset=i64(900), epoch=i32(1))))
    assert reading.written("log_skipped")[0][2]["offset"] == 900
    assert (reading.log.place.offset, reading.log.place.last_epoch) == (900, 1)
    reading.take(answer(log_batch(900, partition_change(ORDERS, 0, leader=2), NO_OP), end=902))
    assert reading.kinds() == ["log_skipped", "log_noop", "log_committed"], "an epoch that cannot be counted is no line"


def test_who_is_in_controlled_shutdown_is_known_until_it_registers_again() -> None:
    reading = Reading()
    reading.take(answer(BEGINNING, end=4))
    reading.take(answer(log_batch(4, broker_change(1, 1, STOPPING)), end=5))
    assert reading.log.stopping[1].offset == 4
    reading.take(answer(log_batch(5, broker_change(1, 1, FENCED)), end=6))
    assert reading.log.stopping[1].offset == 4, "the fence at its end is no new stop"
    reading.take(answer(log_batch(6, register(1, 7, version=3)), end=7))
    assert reading.log.stopping == {}


def response(part: Any) -> bytes:
    topics = (fetch.FetchableTopicResponse(topic_id=asks.METADATA_LOG_ID, partitions=(part,)),)
    throttle = i32Timedelta.parse(timedelta(0))
    return body(fetch.FetchResponse(throttle_time=throttle, error_code=ErrorCode.none, responses=topics))


def refusal(code: ErrorCode, leader: int, epoch: int) -> bytes:
    current = fetch.LeaderIdAndEpoch(leader_id=leader, leader_epoch=i32(epoch))  # type: ignore[arg-type]
    return response(answer(error_code=code, current_leader=current, records=None, end=-1))


def follow(scripts: dict[int, Sequence[bytes | None]], *, until: int) -> list[tuple[str, int, int, Fields]]:
    """What followers write of controllers that give these answers, the last of them again and again."""
    lines: list[tuple[str, int, int, Fields]] = []

    async def run(doors: dict[int, Any]) -> None:
        log = MergedLog(lambda *line: lines.append(line))
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(Follower(node, opens, log).run()) for node, opens in doors.items()]
            async with asyncio.timeout(20):
                while len(lines) < until:
                    await asyncio.sleep(0.01)
            for task in running:
                task.cancel()

    def script(left: list[bytes | None], key: int, _: int) -> bytes | None:
        if key == asks.API_VERSIONS.key:
            return body(api_versions(1, {**OFFERED, 1: (4, 18)}))
        said = left.pop(0) if len(left) > 1 else left[0]
        if said is None:
            raise ConnectionAbortedError
        return said

    with ExitStack() as stack:
        doors = {
            node: partial(open_stream, stack.enter_context(scripted_broker(partial(script, list(answers)))))
            for node, answers in scripts.items()
        }
        asyncio.run(run(doors))
    return lines


def test_the_leader_is_found_through_what_another_controller_says() -> None:
    away = ErrorCode.fenced_leader_epoch
    lines = follow({1: [refusal(away, 2, 5)], 2: [refusal(away, 2, 5), response(answer(BEGINNING, end=4))]}, until=7)
    assert {"log_leader", "log_broker", "log_partition", "quorum"} <= {line[0] for line in lines}
    named = {(line[3]["by"], line[3]["controller"], line[3]["quorum_epoch"]) for line in lines if line[0] == "quorum"}
    assert named == {(1, 2, 5), (2, 2, 5)}


def test_a_vote_and_its_outcome_are_lines_with_the_polls_around_them() -> None:
    away, other = ErrorCode.fenced_leader_epoch, ErrorCode.not_leader_or_follower
    lines = follow({3: [refusal(other, 1, 5), refusal(away, -1, 6), None, refusal(other, 2, 6)]}, until=4)
    said = [(line[3]["controller"], line[3].get("quorum_epoch")) for line in lines]
    assert said == [(1, 5), (-1, 6), (-1, None), (2, 6)]
    assert "closed" in lines[2][3]["error"]
    assert all(line[1] <= line[2] for line in lines)
    assert [line[1] for line in lines] == sorted(line[1] for line in lines)


def test_a_damaged_answer_is_asked_for_again() -> None:
    broken = bytearray(response(answer(BEGINNING, end=4)))
    broken[-10] ^= 1
    given = [refusal(ErrorCode.fenced_leader_epoch, 2, 1), bytes(broken), response(answer(BEGINNING, end=4))]
    assert "log_partition" in {line[0] for line in follow({2: given}, until=5)}


@pytest.mark.parametrize("version", asks.FETCH_METADATA.versions)
def test_only_who_may_say_so_is_told_the_high_watermark(version: int) -> None:
    place = asks.MetadataFrom(epoch=3, offset=10, last_epoch=2, high_watermark=9, bytes_max=100, wait_ms=500)
    request = asks.fetch_metadata(place).request(version)
    (part,) = request.topics[0].partitions
    assert (part.current_leader_epoch, part.fetch_offset, part.last_fetched_epoch) == (3, 10, 2)
    assert getattr(part, "high_watermark", None) == (9 if version >= 18 else None)
    assert request.replica_state.replica_id == -1


def test_the_request_on_the_wire_names_no_replica() -> None:
    place = asks.MetadataFrom(epoch=3, offset=10, last_epoch=2, high_watermark=9, bytes_max=100, wait_ms=500)
    sent = frames.encode(asks.fetch_metadata(place).request(18), 1)[4:]
    header, at = entity_reader(fetch_request.FetchRequest.__header_schema__)(sent, 0)
    request, used = entity_reader(fetch_request.FetchRequest)(sent, at)
    assert (header.request_api_key, header.request_api_version, at + used) == (1, 18, len(sent))
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (-1, -1)


def test_a_crash_ends_the_log_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError("of our own")

    monkeypatch.setattr(MergedLog, "take", crash)
    lines = follow({1: [refusal(ErrorCode.fenced_leader_epoch, 1, 5), response(answer(BEGINNING, end=4))]}, until=2)
    assert lines[-1][3]["error"] == "the reader crashed: ZeroDivisionError: of our own"
