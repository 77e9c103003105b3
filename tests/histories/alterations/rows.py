"""Which rows an alteration means, and what several of them do."""

from __future__ import annotations

import polars as pl

from chaoskafka.history.tape import Outcome
from tests.histories.copy import Copy, Row


def at(offset: int) -> pl.Expr:
    return pl.col("offset").eq(offset)


def message(row: Row) -> pl.Expr:
    """The rows that name the same message."""
    return (pl.col("producer") == row["producer"]) & (pl.col("sequence") == row["sequence"])


def doubt_acks(copy: Copy, which: pl.Expr) -> None:
    """Those acknowledgements of one partition never came."""
    acked = (pl.col("outcome") == Outcome.ACKNOWLEDGED) & which
    sends = copy.history.sends(copy.partition).filter(acked).group_by("producer").len()
    copy.set("ops/send", acked, outcome=Outcome.INDETERMINATE, offset=None)
    for producer, count in sends.iter_rows():
        copy.count(producer, acknowledged=-count, indeterminate=count)
