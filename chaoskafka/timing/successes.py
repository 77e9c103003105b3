"""What each client got done when: acknowledgements and deliveries as uncertain instants.

In: a History and a partition. Out: a row per success, by hi_ns. Pure.
"""

from __future__ import annotations

import polars as pl

from chaoskafka.history.kept import once
from chaoskafka.history.places import acknowledged_at, epochs, rows_at
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import IDENTITY, Group, acknowledged, delivered_to, in_order, parted

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
        "row": pl.UInt32,  # of an acknowledgement: the audit's record at that offset, if it is that message; else null
    }
)


@once
def of_producers(history: History, partition: TopicPartition) -> pl.DataFrame:
    """All producers' acknowledgements.

    One lies between invocation plus the client's own produce-to-acknowledge time and the callback. Without that time
    all that is known is that it came after the invocation.
    """
    acked = acknowledged(history, partition).with_columns(row=acknowledged_at(history, partition))
    earliest = pl.min_horizontal(pl.col("invoked_ns") + pl.col("latency_ns").fill_null(0), "completed_ns")
    found = acked.filter(pl.col("completed_ns").is_not_null()).select(
        earliest.alias("lo_ns"),
        pl.col("completed_ns").alias("hi_ns"),
        "offset",
        *IDENTITY,
        pl.lit(None, dtype=pl.Int32).alias("epoch"),
        "row",
    )
    return in_order(found, "hi_ns")


@once
def of_group(history: History, group: Group, partition: TopicPartition) -> pl.DataFrame:
    """A group's deliveries, whichever member had them: each came during the poll that returned it."""
    reads = delivered_to(group, history.reads(partition)).select(
        *_READER, "poll", "read_ns", "offset", *IDENTITY, "leader_epoch"
    )
    placed = [_with_polls(history, who, own) for who, own in parted(reads, *_READER).items()]
    # Without the poll's record nothing is known but the delivery itself.
    began = pl.min_horizontal(pl.coalesce("begin_ns", "read_ns"), "read_ns")
    found = [
        own.select(
            began.alias("lo_ns"),
            pl.col("read_ns").alias("hi_ns"),
            "offset",
            *IDENTITY,
            pl.col("leader_epoch").alias("epoch"),
            pl.lit(None, dtype=pl.UInt32).alias("row"),
        )
        for own in placed
    ]
    return in_order(pl.concat(found), "hi_ns") if found else pl.DataFrame(schema=SUCCESS)


def _with_polls(history: History, reader: tuple[object, ...], reads: pl.DataFrame) -> pl.DataFrame:
    """One incarnation's reads, each with the begin of its poll."""
    polls = _polls(history, reader)
    return reads.with_columns(begin_ns=polls["begin_ns"].gather(rows_at(polls["poll"], reads["poll"])))


@once
def _polls(history: History, reader: tuple[object, ...]) -> pl.DataFrame:
    """One incarnation's polls in order, each number once: the last that bears it."""
    of_reader = pl.all_horizontal(pl.col(name) == value for name, value in zip(_READER, reader, strict=True))
    polls = history.polls.filter(of_reader & pl.col("poll").is_not_null()).select("poll", "begin_ns").sort("poll")
    return polls.filter(pl.col("poll").ne_missing(pl.col("poll").shift(-1)))


def written_since(successes: pl.DataFrame, epoch: int, history: History, partition: TopicPartition) -> pl.DataFrame:
    """The successes whose message lies in a batch of leader epoch `epoch` or a later one.

    Where the client was not told the epoch, the audit says it, if it holds that very message at that offset: an
    acknowledgement by a deposed leader may name an offset that the new one filled with another message.
    """
    audited = epochs(history, partition).gather(successes["row"])
    placed = successes.with_columns(epoch=pl.coalesce("epoch", audited))
    told = placed.filter(pl.col("epoch") >= epoch)
    untold = placed.filter(pl.col("epoch").is_null())
    if untold.is_empty():
        return told
    later = history.batches(partition).filter(pl.col("leader_epoch") >= epoch)
    written = history.records(partition).join(later, on="base_offset", how="semi")
    found = untold.join(written, on=["offset", *IDENTITY], how="semi", maintain_order="left")
    return pl.concat([told, found])
