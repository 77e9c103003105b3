"""Acknowledgements and reads laid beside the audit, offset by offset: which of them say just what the log holds.

In: a History and one of its partitions. Out: for each row of one table, the row of another. Pure. Nearly every
acknowledgement and every read names the very record that stands at its offset, and an offset leads to its row by one
subtraction. Looking for a message by the three parts of its identity costs many times as much, and is left to whoever
asks about the few rows that remain: a row number is a proof, its absence proves nothing.
"""

from __future__ import annotations

import polars as pl

from chaoskafka.history.kept import once
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import IDENTITY, acknowledged, in_order, in_place

SEEN = ("offset", "state", *IDENTITY, "sent_topic", "sent_partition")
"""All that the audit and a reader both tell of a record."""

_ROW = pl.UInt32  # as Polars numbers rows


def is_key(values: pl.Series) -> bool:
    """Whether they ascend, none twice and none null: then each leads to one row."""
    return not values.has_nulls() and values.is_sorted() and not bool((values == values.shift(1)).any())


def rows_at(keys: pl.Series, wanted: pl.Series) -> pl.Series:
    """For each wanted value the row of `keys` that holds it; null where none does, and all null if `keys` is no key."""
    if keys.is_empty() or not is_key(keys):
        return pl.repeat(None, len(wanted), dtype=_ROW, eager=True)
    asked = wanted.to_frame("key")
    first, last = keys[0], keys[-1]
    if last - first == len(keys) - 1:  # without a gap, as offsets and polls mostly are
        inside = pl.col("key").is_between(first, last)
        return asked.select(pl.when(inside).then(pl.col("key") - first).cast(_ROW)).to_series()
    numbered = keys.to_frame("key").with_row_index("row")
    return asked.join(numbered, on="key", how="left", maintain_order="left")["row"]


@once
def acknowledged_at(history: History, partition: TopicPartition) -> pl.Series:
    """For each acknowledged send: the record at its offset, if that is this message in its right place."""
    acked, records = acknowledged(history, partition), history.records(partition)
    rows = rows_at(records["offset"], acked["offset"])
    there = records.select(*IDENTITY, right=in_place(history, partition))
    same = _at(there, rows, "right")
    for name in IDENTITY:
        same &= _at(there, rows, name) == acked[name]
    return _where(same, rows)


@once
def read_at(history: History, partition: TopicPartition) -> pl.Series:
    """For each read: the record at its offset, if that is the same in all that both tell; null equals null."""
    reads, records = history.reads(partition), history.records(partition)
    rows = rows_at(records["offset"], reads["offset"])
    same = rows.is_not_null()
    for name in SEEN[1:]:
        same &= _at(records, rows, name).eq_missing(reads[name])
    return _where(same, rows)


@once
def vouched_for(history: History, partition: TopicPartition) -> pl.Series:
    """For each audited record: whether it is a message in its right place that was acknowledged with this offset."""
    return marked(history.records(partition), acknowledged_at(history, partition))


@once
def epochs(history: History, partition: TopicPartition) -> pl.Series:
    """For each audited record: the leader epoch of its batch; null where the audit has no such batch."""
    batches = history.batches(partition)
    return batches["leader_epoch"].gather(rows_at(batches["base_offset"], history.records(partition)["base_offset"]))


@once
def messages(history: History, partition: TopicPartition) -> pl.DataFrame:
    """The audited records that are messages of this run in their right place, sorted by identity, copies by offset;
    and whether each is `vouched` for."""
    found = history.records(partition).with_columns(vouched=vouched_for(history, partition))
    return in_order(in_order(found.filter(in_place(history, partition)), "offset"), *IDENTITY)


def marked(records: pl.DataFrame, rows: pl.Series) -> pl.Series:
    """For each record whether its row is among these; nulls are no row."""
    return pl.repeat(value=False, n=records.height, eager=True).scatter(rows.drop_nulls(), values=True)


def lacking(few: pl.DataFrame, many: pl.DataFrame) -> pl.DataFrame:
    """The rows whose identity is not among those of `many`. Fast for few rows, right for any number."""
    return few if few.is_empty() else few.join(_near(few, many), on=IDENTITY, how="anti", maintain_order="left")


def shared(few: pl.DataFrame, many: pl.DataFrame) -> pl.DataFrame:
    """The rows whose identity is among those of `many`. Fast for few rows, right for any number."""
    return few if few.is_empty() else few.join(_near(few, many), on=IDENTITY, how="semi", maintain_order="left")


def _near(few: pl.DataFrame, many: pl.DataFrame) -> pl.DataFrame:
    """Those that could be meant: to find them by one number is quick, to hash all three parts of each name is not."""
    return many.filter(pl.col("sequence").is_in(few["sequence"].unique().implode()))


def _at(table: pl.DataFrame, rows: pl.Series, column: str) -> pl.Series:
    return table[column].gather(rows)


def _where(same: pl.Series, rows: pl.Series) -> pl.Series:
    return pl.select(pl.when(same).then(rows)).to_series()
