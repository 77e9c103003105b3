"""The life of one message: sent, acknowledged, read, and what the audit found of it.

In: a History and a MessageId. Out: a Life, plain values. Pure. What was never recorded is None or empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from chaoskafka.history.doubt import observer_clock_doubts
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import in_batches
from chaoskafka.report.leaders import Told, at, news
from chaoskafka.report.story.model import MessageId
from chaoskafka.report.story.naming import is_message

COPIES_MAX = 10  # places where one message is found, and readers it was given to: more only repeat the point
CHANGES_MAX = 12  # changes of leadership and ISR after the acknowledgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """Rows of the tables as mappings, as they stand there."""

    message: MessageId
    send: dict[str, Any] | None
    copies: list[dict[str, Any]]  # audited records in its place, with their batches
    strays: list[tuple[TopicPartition, int]]  # where else it was found
    reads: list[dict[str, Any]]
    instead: dict[str, Any] | None  # what stands at the acknowledged offset now, with its batch
    end: int | None  # of the audited log; None: not read
    leader: Told | None  # as known when it was acknowledged
    changes: list[Told]  # what became known after that


def life(history: History, message: MessageId) -> Life:
    """Raises HistoryError when a table is damaged, or the run had no such topic."""
    topic = history.header.topic(message.partition.topic)
    partition = message.partition
    own = is_message(message)
    placed = (pl.col("sent_topic") == topic.index) & (pl.col("sent_partition") == partition.partition)
    sends = history.sends(partition).filter(own)
    send = sends.row(0, named=True) if not sends.is_empty() else None
    stored = in_batches(history.records(partition).filter(own & placed), history.batches(partition))
    offset = send["offset"] if send is not None else None
    there = history.records(partition).filter(pl.col("offset") == offset) if offset is not None else pl.DataFrame()
    acked_ns = send["completed_ns"] if send is not None else None
    seen = not observer_clock_doubts(history)
    end = history.ends.get(partition)
    return Life(
        message=message,
        send=send,
        copies=stored.sort("offset").head(COPIES_MAX).to_dicts(),
        strays=_strays(history, partition, own & placed),
        reads=history.reads(partition).filter(own & placed).sort("read_ns").head(COPIES_MAX).to_dicts(),
        instead=in_batches(there, history.batches(partition)).row(0, named=True) if not there.is_empty() else None,
        end=end.end if end is not None and end.whole else None,
        leader=at(history, partition, acked_ns) if seen and acked_ns is not None else None,
        changes=_changes(history, partition, acked_ns) if seen and acked_ns is not None else [],
    )


def _strays(history: History, partition: TopicPartition, wanted: pl.Expr) -> list[tuple[TopicPartition, int]]:
    found: list[tuple[TopicPartition, int]] = []
    for other in history.partitions:
        if other != partition and len(found) < COPIES_MAX:
            offsets = history.records(other).filter(wanted & (pl.col("state") == PayloadState.OURS))["offset"]
            found += [(other, offset) for offset in offsets.head(COPIES_MAX).to_list()]
    return found


def _changes(history: History, partition: TopicPartition, after_ns: int) -> list[Told]:
    return [said for said in news(history, partition) if said.hi_ns > after_ns][:CHANGES_MAX]
