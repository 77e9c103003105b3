"""Which message a row of evidence is about.

In: a row, and the History that it came from. Out: a MessageId, or None where it names none. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import IDENTITY
from chaoskafka.report.story.model import MessageId


def message_in(history: History, row: Mapping[str, Any]) -> MessageId | None:
    """By its identity, in the partition that it was sent to; a record without one by who was told its offset."""
    partition = _partition(history, row)
    if partition is None:
        return None
    parts = [row.get(name) for name in IDENTITY]
    producer, incarnation, sequence = (part if isinstance(part, int) else -1 for part in parts)
    if min(producer, incarnation, sequence) >= 0:
        place = _sent_to(history, row) or partition
        return MessageId(partition=place, producer=producer, incarnation=incarnation, sequence=sequence)
    if not isinstance(row.get("offset"), int):
        return None
    acked = pl.col("outcome") == Outcome.ACKNOWLEDGED
    told = history.sends(partition).filter(acked & (pl.col("offset") == row["offset"])).select(IDENTITY)
    if told.is_empty():
        return None
    producer, incarnation, sequence = told.row(0)
    return MessageId(partition=partition, producer=producer, incarnation=incarnation, sequence=sequence)


def is_message(message: MessageId) -> pl.Expr:
    """Whether a row is of this message, in the tables of its partition."""
    own = zip(IDENTITY, (message.producer, message.incarnation, message.sequence), strict=True)
    return pl.all_horizontal(pl.col(name) == value for name, value in own)


def _partition(history: History, row: Mapping[str, Any]) -> TopicPartition | None:
    topic, _, number = str(row.get("partition") or "").rpartition("/")
    if not number.isdecimal():
        return None
    partition = TopicPartition(topic, int(number[:9]))
    return partition if partition in history.partitions else None


def _sent_to(history: History, row: Mapping[str, Any]) -> TopicPartition | None:
    """Where the payload says that it was sent, which need not be where it was found."""
    topic = next((facts for facts in history.header.topics if facts.index == row.get("sent_topic")), None)
    number = row.get("sent_partition")
    if topic is None or not isinstance(number, int) or not 0 <= number < topic.partitions:
        return None
    return TopicPartition(topic.name, number)
