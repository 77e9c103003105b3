"""Kafka's own topics, in which it keeps the state of groups and of transactions: names in, their layout out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskafka.cluster.spec import TopicSpec

OFFSETS = "__consumer_offsets"
TRANSACTIONS = "__transaction_state"
TOPICS = (OFFSETS, TRANSACTIONS)
PARTITIONS = 3  # Kafka makes 50; nothing here depends on how many, and each is in every answer


def laid_out(brokers: Sequence[int]) -> tuple[TopicSpec, list[list[int]]]:
    """Either topic, and the brokers of each of its partitions, the first of them leading."""
    copies = min(3, len(brokers))
    spec = TopicSpec(partitions=PARTITIONS, replication_factor=copies, min_insync_replicas=min(2, copies))
    return spec, [[brokers[(number + i) % len(brokers)] for i in range(copies)] for number in range(PARTITIONS)]
