"""Ask brokers, each over a connection of its own, what they see.

In: each broker's address. Out: one `BrokerView` per broker; what it means together is worked out in `sights.py`.
A broker that does not answer is a value, never an exception.
"""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from chaoskafka.clock import wait_until
from chaoskafka.cluster import sights
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.security import PLAINTEXT, Security
from chaoskafka.cluster.sights import BrokerView, Partition, PartitionView
from chaoskafka.cluster.wire import asks
from chaoskafka.cluster.wire.asks import DescribeCluster, DescribeQuorum, Metadata
from chaoskafka.cluster.wire.connection import Connection, connect
from chaoskafka.errors import NoAnswer, WaitTimeout

ANSWER_S = 3.0  # a healthy broker answers in 1-5 ms, one on an overloaded machine took over 1 s
QUORUM_ANSWER_S = 2.0  # forwarded to the active controller: while there is none, the broker lets us wait
MADE_S = 20.0  # for 50 partitions of __transaction_state to be made and led: 1-3 s on an idle machine
THREADS_MAX = 16  # brokers asked at the same time


class Views:
    """Asks the brokers at `addresses`. Keeps no connection open: each question is a fresh one, as a new client's."""

    def __init__(
        self, addresses: Mapping[int, Address], security: Security = PLAINTEXT, *, timeout_s: float = ANSWER_S
    ) -> None:
        self.addresses = dict(addresses)
        self._security = security
        self._timeout_s = timeout_s

    def ask(self, broker: int, topics: Sequence[str] | None = None) -> BrokerView:
        """What one broker says of `topics` (None: all, internal ones too). Blocks for at most about 14 s."""
        asked_ns = time.monotonic_ns()
        try:
            connection, versions = connect(self.addresses[broker], self._timeout_s, self._security)
        except NoAnswer as silence:
            return _silent(broker, silence, asked_ns)
        with connection:
            try:
                metadata = connection.ask(asks.metadata(topics))
                cluster = connection.ask(asks.describe_cluster())
            except NoAnswer as silence:
                return _silent(broker, silence, asked_ns)
            (controller, epoch, end, problem), standing = _ask_quorum(connection)
        return BrokerView(
            broker=broker,
            reachable=True,
            error=problem,
            applied_offset=int(versions.finalized_features_epoch) if versions.finalized_features_epoch >= 0 else None,
            metadata_high_watermark=end,
            controller=controller,
            controller_epoch=epoch,
            voters=standing,
            fenced=fenced(cluster),
            partitions=partitions(metadata),
            internal=frozenset(str(topic.name) for topic in metadata.topics if topic.is_internal),
            asked_ns=asked_ns,
            answered_ns=time.monotonic_ns(),
        )

    def ask_all(self, topics: Sequence[str] | None = None) -> list[BrokerView]:
        """What every broker says, all asked at the same time, in the order of their ids. Blocks as `ask` does."""
        brokers = sorted(self.addresses)
        with ThreadPoolExecutor(max_workers=min(THREADS_MAX, max(1, len(brokers)))) as pool:
            return list(pool.map(lambda broker: self.ask(broker, topics), brokers))

    def coordinator(self, group: str) -> int | None:
        """Who coordinates a consumer group, as the first broker says that knows; None when none does. Blocks.

        Asking makes __consumer_offsets exist.
        """
        return self._coordinator(group, asks.GROUP)

    def transaction_coordinator(self, transactional_id: str) -> int | None:
        """Who coordinates the transactions of an id, as above; None when none knows within `MADE_S`. Blocks.

        Asking makes __transaction_state exist, which nobody may have needed so far, and that takes a moment.
        """
        with suppress(WaitTimeout):
            return wait_until(
                f"the coordinator of transactions of {transactional_id}",
                read=lambda: self._coordinator(transactional_id, asks.TRANSACTION),
                good=lambda node: node is not None,
                within_s=MADE_S,
            )
        return None

    def _coordinator(self, key: str, kind: int) -> int | None:
        for broker in sorted(self.addresses):
            with suppress(NoAnswer), self.connect(broker) as connection:
                answer = connection.ask(asks.find_coordinator(key, kind))
                for found in answer.coordinators:
                    if found.key == key and not found.error_code:
                        return int(found.node_id)
        return None

    def connect(self, broker: int) -> Connection:
        """A connection to one broker, its versions negotiated, to be closed by the caller. Raises NoAnswer. Blocks."""
        return connect(self.addresses[broker], self._timeout_s, self._security)[0]


def partitions(answer: Metadata) -> dict[Partition, PartitionView]:
    """The partitions in a Metadata answer. A topic that the broker does not know is left out."""
    return {
        (str(topic.name), int(p.partition_index)): PartitionView(
            topic_id=kafka_uuid(topic.topic_id),
            leader=int(p.leader_id),
            leader_epoch=int(p.leader_epoch),
            replicas=tuple(map(int, p.replica_nodes)),
            isr=tuple(map(int, p.isr_nodes)),
            offline=tuple(map(int, p.offline_replicas)),
        )
        for topic in answer.topics
        if not topic.error_code
        for p in topic.partitions
    }


def fenced(answer: DescribeCluster) -> dict[int, bool]:
    """Each registered broker: fenced or not."""
    return {int(broker.broker_id): bool(broker.is_fenced) for broker in answer.brokers}


def quorum(answer: DescribeQuorum) -> tuple[int | None, int | None, int | None, str | None]:
    """(active controller, its epoch, end of committed metadata, problem); None where it is not known.

    An answer by a controller that does not lead has an error and *zeroes* for leader and epoch, so errors come first.
    """
    if answer.error_code:
        return None, None, None, f"describe_quorum: {answer.error_code.name}"
    for topic in answer.topics:
        for part in topic.partitions:
            if part.error_code:
                return None, None, None, f"describe_quorum: {part.error_code.name}"
            if part.leader_id < 0:
                return None, None, None, "describe_quorum: no leader"
            # A leader that was elected just now says high watermark -1.
            end = int(part.high_watermark) if part.high_watermark >= 0 else None
            return int(part.leader_id), int(part.leader_epoch), end, None
    return None, None, None, "describe_quorum: empty answer"


def voters(answer: DescribeQuorum) -> dict[int, int]:
    """Where each controller's log ends, as the active one knows: -1 where it does not. Empty after an error."""
    return {
        int(voter.replica_id): int(voter.log_end_offset)
        for topic in answer.topics
        for part in topic.partitions
        if not answer.error_code and not part.error_code
        for voter in part.current_voters
    }


def kafka_uuid(topic_id: uuid.UUID | None) -> str:
    """A topic id as Kafka's own tools print it: base64, URL-safe, unpadded."""
    return base64.urlsafe_b64encode((topic_id or uuid.UUID(int=0)).bytes).decode().rstrip("=")


def parse_uuid(text: str) -> uuid.UUID:
    """The reverse of `kafka_uuid`. Raises ValueError."""
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def _ask_quorum(
    connection: Connection,
) -> tuple[tuple[int | None, int | None, int | None, str | None], dict[int, int]]:
    try:
        answer = connection.ask(asks.describe_quorum(), timeout_s=QUORUM_ANSWER_S)
    except NoAnswer as silence:
        return (None, None, None, str(silence)), {}
    return quorum(answer), voters(answer)


def _silent(broker: int, silence: NoAnswer, asked_ns: int) -> BrokerView:
    return BrokerView(
        broker=broker, reachable=False, error=str(silence), asked_ns=asked_ns, answered_ns=time.monotonic_ns()
    )


__all__ = ["BrokerView", "PartitionView", "Views", "sights"]
