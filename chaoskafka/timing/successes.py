"""What each client got done when: acknowledgements and deliveries as uncertain instants.

In: a History and a partition. Out: a row per success, by hi_ns. Pure.
"""

from __future__ import annotations

import polars as pl

from chaoskafka.history.kept import once
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import IDENTITY, Group, acknowledged, delivered_to

_READER = ("consumer", "consumer_incarnation")

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


@once
def of_producers(history: History, partition: TopicPartition) -> pl.DataFrame:
    """All producers' acknowledgements.

    One lies between invocation plus the client's own produce-to-acknowledge time and the callback. Without that time
    all that is known is that it came after the invocation.
    """
    acked = acknowledged(history, partition).filter(pl.col("completed_ns").is_not_null())
    earliest = pl.min_horizontal(pl.col("invoked_ns") + pl.col("latency_ns").fill_null(0), "completed_ns")
    return acked.select(
        earliest.alias("lo_ns"),
        pl.col("completed_ns").alias("hi_ns"),
        "offset",
        *IDENTITY,
        pl.lit(None, dtype=pl.Int32).alias("epoch"),
    ).sort("hi_ns")


@once
def of_group(history: History, group: Group, partition: TopicPartition) -> pl.DataFrame:
    """A group's deliveries, whichever member had them: each came during the poll that returned it."""
    reads = delivered_to(group, history.reads(partition))
    placed = [_with_polls(history, who, own) for who, own in reads.partition_by(_READER, as_dict=True).items()]
    # Without the poll's record nothing is known but the delivery itself.
    began = pl.min_horizontal(pl.coalesce("begin_ns", "read_ns"), "read_ns")
    found = [
        own.select(
            began.alias("lo_ns"),
            pl.col("read_ns").alias("hi_ns"),
            "offset",
            *IDENTITY,
            pl.col("leader_epoch").alias("epoch"),
        )
        for own in placed
    ]
    return pl.concat(found).sort("hi_ns") if found else pl.DataFrame(schema=SUCCESS)


def _with_polls(history: History, reader: tuple[object, ...], reads: pl.DataFrame) -> pl.DataFrame:
    """One incarnation's reads, each with the begin of its poll. Polls are numbered in order, so the two are merged:
    hashing the polls of a long run for each partition took most of the time of all judging."""
    of_reader = pl.all_horizontal(pl.col(name) == value for name, value in zip(_READER, reader, strict=True))
    polls = history.polls.filter(of_reader).select("poll", "begin_ns")
    return reads.sort("poll").join_asof(polls.sort("poll"), on="poll", tolerance=0)


def written_since(successes: pl.DataFrame, epoch: int, history: History, partition: TopicPartition) -> pl.DataFrame:
    """The successes whose message lies in a batch of leader epoch `epoch` or a later one.

    Where the client was not told the epoch, the audit says it, if it holds that very message at that offset: an
    acknowledgement by a deposed leader may name an offset that the new one filled with another message.
    """
    told = successes.filter(pl.col("epoch") >= epoch)
    untold = successes.filter(pl.col("epoch").is_null())
    if untold.is_empty():
        return told
    later = history.batches(partition).filter(pl.col("leader_epoch") >= epoch)
    written = history.records(partition).join(later, on="base_offset", how="semi")
    audited = untold.join(written, on=["offset", *IDENTITY], how="semi", maintain_order="left")
    return pl.concat([told, audited])
