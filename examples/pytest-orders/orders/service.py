"""`python -m orders.service`: reads orders, writes invoices, sends them on. Ends on SIGTERM.

Environment: KAFKA_BOOTSTRAP_SERVERS, ORDERS_TOPIC, ORDERS_INVOICES (a topic), ORDERS_DB (a file).
ORDERS_BUG=commit-first commits offsets before the invoices are written: a crash in between loses orders.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from chaoskafka.testing import HEADER, identity
from orders.store import Store

BATCH = 500
STATUS_EVERY = 50  # orders
FLUSH_S = 30.0
NOT_A_MEMBER = {
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError._ASSIGNMENT_LOST,  # noqa: SLF001 - the client itself noticed: its coordinator was silent for a session
    KafkaError._NO_OFFSET,  # noqa: SLF001 - and of what it has now it read nothing yet
}


def main() -> int:
    """Blocks until it is asked to end."""
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    servers = os.environ["KAFKA_BOOTSTRAP_SERVERS"]
    service = Service(
        consumer=Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "invoicing",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 6000,  # so long one that was killed keeps its partitions from the next
            }
        ),
        producer=Producer({"bootstrap.servers": servers, "enable.idempotence": True}),
        store=Store(Path(os.environ["ORDERS_DB"])),
        commits_first=os.environ.get("ORDERS_BUG") == "commit-first",
    )
    service.run(asked)
    return 0


class Service:
    def __init__(self, *, consumer: Consumer, producer: Producer, store: Store, commits_first: bool) -> None:
        self._consumer, self._producer, self._store = consumer, producer, store
        self._commits_first = commits_first
        self._handled = 0

    def run(self, asked: threading.Event) -> None:
        self._consumer.subscribe([os.environ["ORDERS_TOPIC"]])
        try:
            while not asked.is_set():
                batch = [message for message in self._consumer.consume(BATCH, timeout=0.5) if message.error() is None]
                if batch:
                    self._handle(batch)
        finally:
            self._consumer.close()

    def _handle(self, batch: Sequence[Message]) -> None:
        if self._commits_first:
            self._commit()
        for message in batch:
            self._invoice(message)
        self._producer.flush(FLUSH_S)
        if not self._commits_first:
            self._commit()

    def _commit(self) -> None:
        """A member that was away for too long is refused: another one has its orders, and invoices them again, once."""
        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException as refused:
            if refused.args[0].code() not in NOT_A_MEMBER:
                raise

    def _invoice(self, order: Message) -> None:
        who, payload = identity(order), order.value()
        if who is None or payload is None:
            return  # no order
        cents = 100 + len(payload)
        self._store.invoice(who.id, cents)
        invoice = json.dumps({"order": who.id, "cents": cents}).encode()
        self._producer.produce(os.environ["ORDERS_INVOICES"], invoice, headers={HEADER: payload[:44]})
        self._handled += 1
        if self._handled % STATUS_EVERY == 0:
            sys.stdout.write(json.dumps({"handled": self._handled}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
