"""What each client got done when: acknowledgements and deliveries as uncertain instants.

In: a History and a partition. Out: one frame per client, a row per success, by hi_ns. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import IDENTITY, acknowledged, delivered_to, groups

SUCCESS = pl.Schema(
    {
        "lo_ns": pl.Int64,
        "hi_ns": pl.Int64,
        "offset": pl.Int64,
        "producer": pl.UInt16,
        "incarnation": pl.UInt16,
        "sequence": pl.Int64,
        "epoch": pl.Int32,  # leader epoch of the message's batch, as the client itself was told; null: it was not
    }
)


def of_producers(history: History, partition: TopicPartition) -> Iterator[tuple[int, pl.DataFrame]]:
    """Each producer's acknowledgements.

    One lies between invocation plus the client's own produce-to-acknowledge time and the callback. Without that time
    all that is known is that it came after the invocation.
    """
    acked = acknowledged(history, partition).filter(pl.col("completed_ns").is_not_null())
    earliest = pl.min_horizontal(pl.col("invoked_ns") + pl.col("latency_ns").fill_null(0), "completed_ns")
    found = acked.select(
        earliest.alias("lo_ns"),
        pl.col("completed_ns").alias("hi_ns"),
        "offset",
        *IDENTITY,
        pl.lit(None, dtype=pl.Int32).alias("epoch"),
    )
    for producer in found["producer"].unique().sort().to_list():
        yield producer, found.filter(pl.col("producer") == producer).sort("hi_ns")


def of_groups(history: History, partition: TopicPartition) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each group's deliveries, whichever member had them: each came during the poll that returned it."""
    polls = history.polls.select("consumer", "consumer_incarnation", "poll", "begin_ns")
    for group in groups(history):
        if group.topic == partition.topic:
            reads = delivered_to(group, history.reads(partition)).join(
                polls, on=["consumer", "consumer_incarnation", "poll"], how="left"
            )
            # Without the poll's record nothing is known but the delivery itself.
            began = pl.min_horizontal(pl.coalesce("begin_ns", "read_ns"), "read_ns")
            found = reads.select(
                began.alias("lo_ns"),
                pl.col("read_ns").alias("hi_ns"),
                "offset",
                *IDENTITY,
                pl.col("leader_epoch").alias("epoch"),
            )
            yield group.name, found.sort("hi_ns")


def written_since(successes: pl.DataFrame, epoch: int, history: History, partition: TopicPartition) -> pl.DataFrame:
    """The successes whose message lies in a batch of leader epoch `epoch` or a later one.

    Where the client was not told the epoch, the audit says it, if it holds that very message at that offset: an
    acknowledgement by a deposed leader may name an offset that the new one filled with another message.
    """
    later = history.batches(partition).filter(pl.col("leader_epoch") >= epoch)
    written = history.records(partition).join(later, on="base_offset", how="semi")
    told = successes.filter(pl.col("epoch") >= epoch)
    audited = successes.filter(pl.col("epoch").is_null()).join(written, on=["offset", *IDENTITY], how="semi")
    return pl.concat([told, audited])
