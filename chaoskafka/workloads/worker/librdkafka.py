"""The adapter to librdkafka through confluent-kafka.

In: settings. Out: the client protocols of `client.py`. A producer here is one librdkafka producer *per partition*: a
Kafka connection serves one request at a time, so on a shared one a stalled partition would stall the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.tape import Change
from chaoskafka.workloads.worker.arguments import WorkerArguments
from chaoskafka.workloads.worker.client import (
    ClientError,
    ConsumerListener,
    Deliveries,
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
# Delivery reports kept before they are told. The instant of an acknowledgement is that of the telling, late by at most
# so many callbacks (with the client's own part 1.3 us each), which must stay below the loop's tick.
REPORTS_MAX = 500


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
        self._reported: list[tuple[KafkaError | None, Message]] = []
        self._on_delivery = self._collector()
        self._raised: set[int] = set()
        self._refused = False

    def send(self, partition: int, payloads: Sequence[bytes]) -> Sequence[tuple[int, int]]:
        messages: list[dict[str, Any]] = [{"value": payload} for payload in payloads]
        producer = self._producers[partition]
        try:
            taken = producer.produce_batch(self._topic, messages, partition, on_delivery=self._on_delivery)
        except KafkaException as refused:  # before it looked at any of them
            return [(place, _error(refused).code()) for place in range(len(payloads))]
        if taken == len(messages):
            return ()
        return [(place, message["_error"].code()) for place, message in enumerate(messages) if "_error" in message]

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
        self._tell()

    def close(self) -> None:
        for producer in self._producers.values():
            # close() alone would first wait for deliveries without a limit.
            producer.purge(in_queue=True, in_flight=True, blocking=False)
        self.poll()
        for producer in self._producers.values():
            producer.close()
        self._tell()

    def _collector(self) -> Callable[..., None]:
        """The callback of every delivery report: it only keeps the report, so that polls are short."""
        reported, keep = self._reported, self._reported.append

        def collect(*report: Any) -> None:
            keep(report)
            if len(reported) >= REPORTS_MAX:
                self._tell()

        return collect

    def _tell(self) -> None:
        """Tell the listener of all reports that were kept."""
        if not self._reported:
            return
        errors, messages = zip(*self._reported, strict=True)
        self._reported.clear()
        failures = [error for error in errors if error is not None]  # == would raise: it takes None for a code
        latencies_s = np.array([message.latency() for message in messages], dtype=float)  # NaN where there is none
        self._listener.delivered(
            Deliveries(
                payloads=[message.value() for message in messages],
                codes=[0 if error is None else error.code() for error in errors] if failures else None,
                # None with an error; and a duplicate-sequence answer is a success without an offset.
                offsets=[-1 if (offset := message.offset()) is None else offset for message in messages],
                latencies_ns=np.where(np.isnan(latencies_s), -1, latencies_s * NS_PER_S).astype(np.int64),
            )
        )
        refusal = next((error for error in failures if error.code() in _REFUSALS), None)
        if refusal is not None and not self._refused:  # said once: it concerns every message alike
            self._refused = True
            self._listener.failed_with(_client_error(refusal))


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
