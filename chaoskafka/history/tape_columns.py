"""A tape's records as the columns of `history/tables.py`: names, nulls, and whose they are. Pure.

What a tape leaves out is null here: an outcome that never came, an offset that the acknowledgement did not carry.
"""

from __future__ import annotations

import polars as pl

from chaoskafka.history.identity import PayloadState
from chaoskafka.history.tape import Kind, Outcome, TapeHeader
from chaoskafka.history.tape_reader import Tape

_PENDING = pl.col("outcome") == Outcome.PENDING
_OUTCOME = pl.when(_PENDING).then(pl.lit(Outcome.INDETERMINATE, dtype=pl.UInt8)).otherwise("outcome").alias("outcome")
_LOW_32 = 0xFFFFFFFF


def _given(column: str) -> pl.Expr:
    """Null where the tape says -1."""
    return pl.when(pl.col(column) >= 0).then(column)


def _ended(column: str) -> pl.Expr:
    """Null while the operation has no outcome: what a completion stores counts only with the outcome byte."""
    return pl.when(~_PENDING).then(column)


def send_table(header: TapeHeader, sends: pl.DataFrame) -> pl.DataFrame:
    """Columns of tables.SEND, of one partition's SEND records."""
    acknowledged = pl.col("outcome") == Outcome.ACKNOWLEDGED
    return sends.select(
        pl.lit(header.worker).alias("producer"),
        pl.lit(header.incarnation).alias("incarnation"),
        "sequence",
        _OUTCOME,
        (~_PENDING).alias("completed"),
        pl.when(acknowledged).then(_given("offset")).alias("offset"),
        pl.col("begin_ns").alias("invoked_ns"),
        _ended("end_ns").alias("completed_ns"),
        pl.when(acknowledged).then(_given("a")).alias("latency_ns"),
        pl.when(_PENDING).then(0).otherwise("code").alias("code"),
        _given("txn").alias("txn"),
    )


def read_table(header: TapeHeader, reads: pl.DataFrame) -> pl.DataFrame:
    """Columns of tables.READ, of one partition's READ records."""
    ours = pl.col("code") == PayloadState.OURS
    partition = pl.col("peer_place") & _LOW_32
    return reads.select(
        *_consumer(header),
        pl.col("slot").alias("ordinal"),
        pl.col("sequence").alias("poll"),
        pl.col("end_ns").alias("read_ns"),
        "offset",
        _given("b").alias("leader_epoch"),
        pl.col("code").alias("state"),
        pl.col("peer").alias("producer"),
        pl.col("peer_incarnation").alias("incarnation"),
        pl.col("a").alias("sequence"),
        # Shifts of Int64: Polars has none, and floor division is one for these.
        pl.when(ours).then(pl.col("peer_place") // (_LOW_32 + 1)).alias("sent_topic"),
        pl.when(ours)
        .then(pl.when(partition < 2**31).then(partition).otherwise(partition - 2**32))
        .alias("sent_partition"),
    )


def poll_table(tape: Tape) -> pl.DataFrame:
    """Columns of tables.POLL."""
    return tape.frame(Kind.POLL).select(
        *_consumer(tape.header),
        pl.col("sequence").alias("poll"),
        "begin_ns",
        _ended("end_ns").alias("end_ns"),
        _ended("offset").alias("count"),
        pl.when(_PENDING).then(0).otherwise("code").alias("code"),
    )


def assignment_table(tape: Tape) -> pl.DataFrame:
    """Columns of tables.ASSIGNMENT."""
    return tape.frame(Kind.ASSIGNMENT).select(
        *_consumer(tape.header),
        pl.col("slot").alias("ordinal"),
        pl.col("b").alias("change"),
        _topic(tape.header),
        "partition",
        pl.col("end_ns").alias("at_ns"),
    )


def commit_table(tape: Tape) -> pl.DataFrame:
    """Columns of tables.COMMIT."""
    return tape.frame(Kind.COMMIT).select(
        *_consumer(tape.header),
        pl.col("slot").alias("ordinal"),
        _topic(tape.header),
        "partition",
        "offset",
        "begin_ns",
        _ended("end_ns").alias("end_ns"),
        _OUTCOME,
        pl.when(_PENDING).then(0).otherwise("code").alias("code"),
    )


def transaction_table(tape: Tape) -> pl.DataFrame:
    """Columns of tables.TRANSACTION."""
    return tape.frame(Kind.TRANSACTION).select(
        pl.lit(tape.header.worker).alias("producer"),
        pl.lit(tape.header.incarnation).alias("incarnation"),
        "txn",
        pl.col("b").alias("step"),
        "begin_ns",
        _ended("end_ns").alias("end_ns"),
        _OUTCOME,
        pl.when(_PENDING).then(0).otherwise("code").alias("code"),
    )


def error_table(tape: Tape) -> pl.DataFrame:
    """Columns of tables.ERROR."""
    return tape.frame(Kind.ERROR).select(
        pl.lit(tape.header.worker).alias("worker"),
        pl.lit(tape.header.incarnation).alias("incarnation"),
        pl.col("slot").alias("ordinal"),
        pl.col("end_ns").alias("at_ns"),
        "code",
        (pl.col("b") != 0).alias("fatal"),
    )


def _consumer(header: TapeHeader) -> tuple[pl.Expr, pl.Expr]:
    return pl.lit(header.worker).alias("consumer"), pl.lit(header.incarnation).alias("consumer_incarnation")


def _topic(header: TapeHeader) -> pl.Expr:
    """The topic's name; null when the header names none of that index, which is one of the tape's flaws."""
    names = dict(enumerate(header.topics))
    return pl.col("topic").replace_strict(names, default=None, return_dtype=pl.String).alias("topic")
