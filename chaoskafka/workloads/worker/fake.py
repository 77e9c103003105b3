"""The adapter to a fake cluster in the same process: the client protocols of `client.py` without a client library.

In: the cluster, a worker's arguments. Out: what librdkafka would do: batches with sequence numbers, retries without an
end, a group's assignment, commits. Its part of the lies (`runtimes/fake/lies.py`) is told here.
"""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Sequence

from chaoskafka.cluster.sights import Partition
from chaoskafka.history.tape import Change
from chaoskafka.runtimes.fake.clients import Ended
from chaoskafka.runtimes.fake.kafka import FakeKafka
from chaoskafka.runtimes.fake.lies import VICTIM, Lie
from chaoskafka.runtimes.fake.log import Sender
from chaoskafka.workloads.worker.arguments import WorkerArguments
from chaoskafka.workloads.worker.client import (
    ClientError,
    ConsumerListener,
    Deliveries,
    Position,
    ProducerListener,
    Received,
)
from chaoskafka.workloads.worker.report import EXIT_HANG

BATCH_MAX = 500  # messages or records at once, as the other adapter takes per poll
QUEUE_MAX = 100_000  # librdkafka's queue.buffering.max.messages
# librdkafka's own codes: _QUEUE_FULL, _PURGE_QUEUE, _FATAL
_QUEUE_FULL, _PURGED, _FATAL = -184, -152, -150


class FakeClients:
    """Clients of `work.py`."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka

    def producer(self, arguments: WorkerArguments, listener: ProducerListener) -> FakeProducer:
        return FakeProducer(self._kafka, arguments, listener)

    def consumer(self, arguments: WorkerArguments, listener: ConsumerListener) -> FakeConsumer:
        return FakeConsumer(self._kafka, arguments, listener)


class FakeProducer:
    """A ProducerClient. Sends in order, and a batch that is not taken again at the next poll."""

    def __init__(self, kafka: FakeKafka, arguments: WorkerArguments, listener: ProducerListener) -> None:
        self._kafka, self._topic, self._listener = kafka, arguments.topic, listener
        self._idempotent = arguments.settings.get("enable.idempotence") == "true"
        self._producer_id = kafka.open_producer()
        self._queues: list[deque[tuple[bytes, int]]] = [deque() for _ in range(arguments.partitions)]
        self._stored = [0] * arguments.partitions  # the next sequence number of each partition

    def send(self, partition: int, payloads: Sequence[bytes]) -> Sequence[tuple[int, int]]:
        queue, now_ns = self._queues[partition], time.monotonic_ns()
        taken = min(len(payloads), QUEUE_MAX - len(queue))
        queue.extend((payload, now_ns) for payload in payloads[:taken])
        return [(place, _QUEUE_FULL) for place in range(taken, len(payloads))]

    def poll(self) -> None:
        for partition, queue in enumerate(self._queues):
            if queue:
                self._flush(partition, queue)

    def close(self) -> None:
        for queue in self._queues:
            if queue:
                nothing = [-1] * len(queue)
                purged = Deliveries([payload for payload, _ in queue], [_PURGED] * len(queue), nothing, nothing)
                queue.clear()
                self._listener.delivered(purged)
        self._kafka.close_producer()

    def _flush(self, partition: int, queue: deque[tuple[bytes, int]]) -> None:
        batch = [queue[i] for i in range(min(len(queue), BATCH_MAX))]
        stored = self._stored[partition] if partition == 0 else 0
        # Two at once come at the latest when the partition was away for a while, and something was stored before that.
        if stored and len(batch) > 1 and self._kafka.claim(Lie.REORDER):
            batch[:2] = queue[0], queue[1] = batch[1], batch[0]
        offsets = self._store(partition, [payload for payload, _ in batch])
        if offsets is None:
            return
        if stored >= VICTIM and self._kafka.claim(Lie.SEND_TWICE):
            self._store(partition, [batch[0][0]])
        now_ns = time.monotonic_ns()
        for _ in batch:
            queue.popleft()
        self._listener.delivered(
            Deliveries([payload for payload, _ in batch], None, offsets, [now_ns - sent_ns for _, sent_ns in batch])
        )

    def _store(self, partition: int, payloads: Sequence[bytes]) -> list[int] | None:
        base_sequence = self._stored[partition]
        sender = Sender(producer_id=self._producer_id, epoch=0, base_sequence=base_sequence)
        offsets = self._kafka.produce((self._topic, partition), payloads, sender if self._idempotent else Sender())
        if offsets is not None:
            self._stored[partition] += len(payloads)
        return offsets


class FakeConsumer:
    """A ConsumerClient."""

    def __init__(self, kafka: FakeKafka, arguments: WorkerArguments, listener: ConsumerListener) -> None:
        assert arguments.group is not None
        self._kafka, self._topic, self._listener = kafka, arguments.topic, listener
        self._group, self._member = arguments.group, arguments.name
        self._earliest = arguments.settings.get("auto.offset.reset", "latest") in ("earliest", "smallest", "beginning")
        self._next: dict[Partition, int] = {}  # where each assigned partition is read on
        self._asked: list[list[Position]] = []  # commits that nobody has answered yet
        kafka.join(self._group, self._member)

    def poll(self, within_s: float) -> list[Received]:
        self._misbehave()
        self._answer_commits()
        self._rebalance()
        received = self._read()
        if not received:
            self._kafka.wait(within_s)
            received = self._read()
        return received

    def commit(self, positions: Sequence[Position]) -> None:
        self._asked.append(list(positions))

    def close(self) -> None:
        self._kafka.leave(self._group, self._member)
        if self._kafka.claim(Lie.HANG):
            raise Ended(code=EXIT_HANG)  # as the guard of a process would end it, without waiting for it

    def _misbehave(self) -> None:
        if self._kafka.claim(Lie.CRASH, after_a_death=True):
            self._kafka.leave(self._group, self._member)  # which a coordinator learns when the session is over
            raise Ended(signal=signal.SIGSEGV)
        if self._kafka.claim(Lie.FAIL, after_a_death=True):
            self._listener.failed_with(ClientError(code=_FATAL, text="fenced, as it was told to be", fatal=True))

    def _answer_commits(self) -> None:
        while self._asked:
            positions = self._asked[0]
            if not self._kafka.commit(self._group, {(topic, number): at for topic, number, at in positions}):
                return
            self._asked.pop(0)
            self._listener.committed((*position, 0) for position in positions)

    def _rebalance(self) -> None:
        lost, gained = self._kafka.change(self._group, self._member, self._topic)
        if lost:
            self._listener.assignment(Change.REVOKED, lost)
            self._answer_commits()  # those that the listener asked for go out before the partitions do
            for place in lost:
                self._next.pop(place, None)
            self._kafka.let_go(self._group, self._member, lost)
        if gained:
            self._next |= self._kafka.take(self._group, self._member, gained, earliest=self._earliest)
            self._listener.assignment(Change.ASSIGNED, gained)

    def _read(self) -> list[Received]:
        received: list[Received] = []
        for place, at in self._next.items():
            moved = self._kafka.moved(self._group, place)
            records = self._kafka.read(place, at if moved is None else moved, BATCH_MAX)
            received += [Received(*place, offset, epoch, payload) for offset, epoch, payload in records]
            if records:
                self._next[place] = records[-1][0] + 1
            elif moved is not None:
                self._next[place] = moved
        return received
