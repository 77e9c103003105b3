"""What the audit found in one partition, column by column, and the tables it becomes.

In: batches and records as they are read. Out: frames with the columns of `history.tables`. Arrays of machine numbers,
not rows of objects: a partition of ten million records fits in memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import polars as pl

from chaoskafka.cluster.wire.batches import Batch
from chaoskafka.history import tables
from chaoskafka.history.identity import PayloadState, decode

_CODES: Mapping[pl.DataType | type[pl.DataType], str] = {
    pl.Int64: "q",
    pl.Int32: "i",
    pl.Int16: "h",
    pl.UInt16: "H",
    pl.UInt8: "B",
    pl.Boolean: "B",
}
_NONE = -1  # stands for null while a column is an array


class PartitionTables:
    """Collects one partition. Add each batch once, in order."""

    def __init__(self, run: int) -> None:
        self._run = run
        self._records = _arrays(tables.RECORD)
        self._batches = _arrays(tables.BATCH)

    def add_batch(self, batch: Batch, control: int | None) -> None:
        """A batch, data or control."""
        row = (
            batch.base_offset,
            batch.last_offset,
            batch.leader_epoch,
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.count,
            batch.max_timestamp_ms,
            batch.transactional,
            _NONE if control is None else control,
        )
        for column, value in zip(self._batches.values(), row, strict=True):
            column.append(value)

    def add_record(self, base_offset: int, offset: int, timestamp_ms: int, value: bytes | None) -> None:
        """A record of a data batch; its payload says whose it is."""
        state, identity = decode(self._run, value)
        ours = state is PayloadState.OURS
        row = (
            offset,
            base_offset,
            timestamp_ms,
            state,
            identity.producer,
            identity.incarnation,
            identity.sequence,
            identity.topic if ours else _NONE,
            identity.partition if ours else _NONE,
        )
        for column, field in zip(self._records.values(), row, strict=True):
            column.append(field)

    def records(self) -> pl.DataFrame:
        """In the order of offsets; columns of `tables.RECORD`."""
        frame = _frame(self._records, tables.RECORD)
        ours = pl.col("state") == PayloadState.OURS
        return frame.with_columns(pl.when(ours).then(pl.col("sent_topic", "sent_partition")))

    def batches(self) -> pl.DataFrame:
        """In the order of offsets; columns of `tables.BATCH`."""
        frame = _frame(self._batches, tables.BATCH)
        return frame.with_columns(pl.when(pl.col("control") != _NONE).then(pl.col("control")))


def _arrays(schema: pl.Schema) -> dict[str, array[int]]:
    return {name: array(_CODES[kind.base_type()]) for name, kind in schema.items()}


def _frame(columns: Mapping[str, array[int]], schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame({name: pl.Series(name, column) for name, column in columns.items()}).cast(dict(schema))  # type: ignore[arg-type]
