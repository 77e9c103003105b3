"""What each client got done when: acknowledgements and deliveries as uncertain instants.

In: a History and a partition. Out: one frame per client, (lo_ns, hi_ns, epoch) per success, by hi_ns. Pure.
`epoch` is the leader epoch of the batch in which the message lies; null where the audit does not know it.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import acknowledged, delivered_to, groups

SUCCESS = pl.Schema({"lo_ns": pl.Int64, "hi_ns": pl.Int64, "epoch": pl.Int32})


def of_producers(history: History, partition: TopicPartition) -> Iterator[tuple[int, pl.DataFrame]]:
    """Each producer's acknowledgements.

    One lies between invocation plus the client's own produce-to-acknowledge time and the callback. Without that time
    all that is known is that it came after the invocation.
    """
    acked = acknowledged(history, partition).filter(pl.col("completed_ns").is_not_null())
    placed = acked.join(_epochs(history, partition), on="offset", how="left")  # no offset: null, matches nothing
    earliest = pl.min_horizontal(pl.col("invoked_ns") + pl.col("latency_ns").fill_null(0), "completed_ns")
    for (producer,), own in placed.sort("completed_ns").group_by("producer", maintain_order=True):
        yield int(str(producer)), own.select(lo_ns=earliest, hi_ns="completed_ns", epoch="leader_epoch")


def of_groups(history: History, partition: TopicPartition) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each group's deliveries, whichever member had them: each came during the poll that returned it."""
    polls = history.polls.select("consumer", "consumer_incarnation", "poll", "begin_ns")
    for group in groups(history):
        if group.topic != partition.topic:
            continue
        reads = delivered_to(group, history.reads(partition)).join(
            polls, on=["consumer", "consumer_incarnation", "poll"], how="left"
        )
        placed = reads.join(_epochs(history, partition).rename({"leader_epoch": "audited"}), on="offset", how="left")
        # Without the poll's record nothing is known but the delivery itself. A reader that names no epoch leaves it
        # to the audit.
        yield (
            group.name,
            placed.select(
                lo_ns=pl.min_horizontal(pl.col("begin_ns").fill_null(pl.col("read_ns")), "read_ns"),
                hi_ns="read_ns",
                epoch=pl.coalesce(pl.col("leader_epoch"), pl.col("audited")),
            ).sort("hi_ns"),
        )


def _epochs(history: History, partition: TopicPartition) -> pl.DataFrame:
    """The leader epoch under which each audited offset was written."""
    records = history.records(partition).select("offset", "base_offset")
    batches = history.batches(partition).select("base_offset", "leader_epoch")
    return records.join(batches, on="base_offset", how="left").select("offset", "leader_epoch")
