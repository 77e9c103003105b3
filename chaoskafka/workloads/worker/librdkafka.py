"""The adapter to librdkafka through confluent-kafka.

In: settings. Out: the client protocols of `client.py`. A producer here is one librdkafka producer *per partition*: a
Kafka connection serves one request at a time, so on a shared one a stalled partition would stall the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.tape import Change
from chaoskafka.workloads.worker.arguments import WorkerArguments
from chaoskafka.workloads.worker.client import (
    ClientError,
    ConsumerListener,
    Position,
    ProducerListener,
    Received,
    Refused,
)

_REFUSALS = frozenset(
    {
        KafkaError._AUTHENTICATION,  # noqa: SLF001 - its public names
        KafkaError._SSL,  # noqa: SLF001
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
BATCH_MAX = 500  # records taken per poll: bounds how long the loop is away from its clock (about 5 ms of Python)


class LibrdkafkaClients:
    """Clients of `work.py`."""

    def producer(self, arguments: WorkerArguments, listener: ProducerListener) -> LibrdkafkaProducer:
        return LibrdkafkaProducer(_settings(arguments), arguments.topic, range(arguments.partitions), listener)

    def consumer(self, arguments: WorkerArguments, listener: ConsumerListener) -> LibrdkafkaConsumer:
        return LibrdkafkaConsumer(_settings(arguments), arguments.topic, listener)


def _settings(arguments: WorkerArguments) -> dict[str, str]:
    return {**arguments.settings, **arguments.security.librdkafka()}


class LibrdkafkaProducer:
    """A ProducerClient."""

    def __init__(
        self, settings: Mapping[str, str], topic: str, partitions: Sequence[int], listener: ProducerListener
    ) -> None:
        self._topic, self._listener = topic, listener
        own = {"error_cb": lambda error: listener.failed_with(_client_error(error))}
        self._producers = {
            number: Producer({**settings, "client.id": f"{settings.get('client.id', 'chaoskafka')}-{number}", **own})
            for number in partitions
        }
        self._raised: set[int] = set()
        self._refused = False

    def send(self, partition: int, payload: bytes, slot: int) -> None:
        try:
            self._producers[partition].produce(
                self._topic, payload, partition=partition, on_delivery=partial(self._delivered, slot, partition)
            )
        except BufferError as full:
            raise Refused(KafkaError._QUEUE_FULL, str(full)) from full  # noqa: SLF001 - its public name
        except KafkaException as refused:
            raise Refused(_error(refused).code(), str(refused)) from refused

    def poll(self) -> None:
        for number, producer in self._producers.items():
            try:
                producer.poll(0)
            except (
                KafkaException
            ) as raised:  # a fatal idempotence error comes out of poll itself, and of every later one
                if number not in self._raised:
                    self._raised.add(number)
                    self._listener.failed_with(_client_error(_error(raised)))

    def close(self) -> None:
        for producer in self._producers.values():
            # close() alone would first wait for deliveries without a limit.
            producer.purge(in_queue=True, in_flight=True, blocking=False)
        self.poll()
        for producer in self._producers.values():
            producer.close()

    def _delivered(self, slot: int, partition: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._listener.delivered(slot, partition, error.code(), -1, -1)
            if error.code() in _REFUSALS and not self._refused:  # said once: it concerns every message alike
                self._refused = True
                self._listener.failed_with(_client_error(error))
            return
        latency_s, offset = message.latency(), message.offset()
        latency_ns = -1 if latency_s is None else int(latency_s * NS_PER_S)
        # A duplicate-sequence answer is a success without an offset (-1001).
        self._listener.delivered(slot, partition, 0, -1 if offset is None or offset < 0 else offset, latency_ns)


class LibrdkafkaConsumer:
    """A ConsumerClient."""

    def __init__(self, settings: Mapping[str, str], topic: str, listener: ConsumerListener) -> None:
        self._listener = listener
        own: dict[str, Any] = {
            "error_cb": lambda error: listener.failed_with(_client_error(error)),
            "on_commit": self._committed,
        }
        self._consumer = Consumer({**settings, **own})
        self._consumer.subscribe(
            [topic],
            on_assign=partial(self._changed, Change.ASSIGNED),
            on_revoke=partial(self._changed, Change.REVOKED),
            on_lost=partial(self._changed, Change.LOST),
        )

    def poll(self, within_s: float) -> list[Received]:
        # consume() would wait for the batch to be full; so wait for one record, then take what else is there.
        try:
            first = self._consumer.poll(within_s)
            messages = [first, *self._consumer.consume(BATCH_MAX - 1, 0)] if first is not None else []
        except KafkaException as raised:
            self._listener.failed_with(_client_error(_error(raised)))
            return []
        received = []
        for message in messages:
            if (error := message.error()) is not None:
                self._listener.failed_with(_client_error(error))
                continue
            received.append(_received(message))
        return received

    def commit(self, positions: Sequence[Position]) -> None:
        try:
            self._consumer.commit(offsets=[TopicPartition(*position) for position in positions], asynchronous=True)
        except KafkaException as refused:
            raise Refused(_error(refused).code(), str(refused)) from refused

    def close(self) -> None:
        self._consumer.close()

    def _changed(self, change: Change, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._listener.assignment(change, [(p.topic, p.partition) for p in partitions])

    def _committed(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        whole = 0 if error is None else error.code()
        self._listener.committed(
            (p.topic, p.partition, p.offset, p.error.code() if p.error is not None else whole) for p in partitions
        )


def _received(message: Message) -> Received:
    topic, partition, offset, epoch = message.topic(), message.partition(), message.offset(), message.leader_epoch()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return Received(topic, partition, offset, -1 if epoch is None else epoch, message.value())


def _error(raised: KafkaException) -> KafkaError:
    error = raised.args[0]
    assert isinstance(error, KafkaError)
    return error


def _client_error(error: KafkaError) -> ClientError:
    return ClientError(code=error.code(), text=str(error), fatal=error.fatal(), refused=error.code() in _REFUSALS)
