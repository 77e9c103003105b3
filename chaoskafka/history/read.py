"""Read a sealed run directory as a History: the one input of every check and of the timing."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import polars as pl

from chaoskafka.errors import HistoryError
from chaoskafka.history import tables
from chaoskafka.history.events import Event, FaultWindow, fault_windows, read_events
from chaoskafka.history.header import RunHeader
from chaoskafka.history.kept import Kept, once
from chaoskafka.history.observations import OBSERVATION
from chaoskafka.history.stored import read_as, read_bytes
from chaoskafka.history.tables import AuditedEnd, TopicPartition, WorkerReport

T = TypeVar("T")
TOLD_MAX = 300  # characters of what the table library says of a damaged table, which may repeat the table


@dataclass(frozen=True)
class History:
    """One run, read lazily: tables are loaded per partition, when a check first asks for them, and kept while there is
    room. It shows the run as it was then: a directory that changes needs a new History."""

    run_dir: Path

    @cached_property
    def kept(self) -> Kept:
        """What was read and computed of this history with `once`."""
        return Kept()

    @cached_property
    def header(self) -> RunHeader:
        return RunHeader.load(self.run_dir)

    @cached_property
    def events(self) -> list[Event]:
        return read_events(self.run_dir / "events.jsonl")

    @cached_property
    def faults(self) -> list[FaultWindow]:
        return fault_windows(self.events)

    @cached_property
    def partitions(self) -> list[TopicPartition]:
        """Every partition of the topics under test."""
        return [TopicPartition(t.name, p) for t in self.header.topics for p in range(t.partitions)]

    @cached_property
    def workers(self) -> list[WorkerReport]:
        """Empty when the run never got as far as workers."""
        return list(self._rows("ops/workers.json", WorkerReport))

    @cached_property
    def ends(self) -> Mapping[TopicPartition, AuditedEnd]:
        """How far the audit got; a partition that it never reached is missing."""
        rows = self._rows("audit/ends.json", AuditedEnd)
        return {TopicPartition(row.topic, row.partition): row for row in rows}

    @once
    def sends(self, partition: TopicPartition) -> pl.DataFrame:
        return self._table(f"ops/send/{partition.file}", tables.SEND)

    @once
    def reads(self, partition: TopicPartition) -> pl.DataFrame:
        return self._table(f"ops/read/{partition.file}", tables.READ)

    @once
    def records(self, partition: TopicPartition) -> pl.DataFrame:
        return self._table(f"audit/record/{partition.file}", tables.RECORD)

    @once
    def batches(self, partition: TopicPartition) -> pl.DataFrame:
        return self._table(f"audit/batch/{partition.file}", tables.BATCH)

    @cached_property
    def polls(self) -> pl.DataFrame:
        return self._table("ops/poll.parquet", tables.POLL)

    @cached_property
    def assignments(self) -> pl.DataFrame:
        return self._table("ops/assignment.parquet", tables.ASSIGNMENT)

    @cached_property
    def commits(self) -> pl.DataFrame:
        return self._table("ops/commit.parquet", tables.COMMIT)

    @cached_property
    def client_errors(self) -> pl.DataFrame:
        return self._table("ops/error.parquet", tables.ERROR)

    @cached_property
    def observations(self) -> pl.DataFrame:
        """Empty when the observer never wrote; then nothing that needs it can be judged.

        A last line that was cut off by a crash is left out.
        """
        path = self.run_dir / "observations.jsonl"
        whole, line_break, _ = read_bytes(path).rpartition(b"\n") if path.exists() else (b"", b"", b"")
        if not line_break:
            return pl.DataFrame(schema=OBSERVATION)
        # A value of another type becomes null, as one that a line does not have.
        seen = _sound(path, lambda: pl.read_ndjson(io.BytesIO(whole), schema=OBSERVATION, ignore_errors=True))
        if seen["kind"].has_nulls():
            raise HistoryError(f"{path}: damaged: a line that is no observation")
        return seen

    def _table(self, name: str, schema: pl.Schema) -> pl.DataFrame:
        path = self.run_dir / name
        if not path.exists():
            return pl.DataFrame(schema=schema)
        if not path.is_file():
            raise HistoryError(f"{path}: damaged table: no regular file")
        return _sound(path, lambda: pl.read_parquet(path).match_to_schema(schema))

    def _rows(self, name: str, kind: type[T]) -> tuple[T, ...]:
        path = self.run_dir / name
        return read_as(tuple[kind, ...], path) if path.exists() else ()  # type: ignore[valid-type]


def _sound(path: Path, read: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """What `read` makes of the file. Raises HistoryError for whatever the table library says of a damaged one."""
    try:
        return read()
    except (pl.exceptions.PolarsError, OSError, ValueError, OverflowError) as broken:
        raise HistoryError(f"{path}: damaged table: {str(broken)[:TOLD_MAX]}") from broken
    except pl.exceptions.PanicException as broken:  # no Exception: the library gave up in the middle
        raise HistoryError(f"{path}: damaged table: {str(broken)[:TOLD_MAX]}") from broken


def open_history(run_dir: Path) -> History:
    """Raises HistoryError when `run_dir` is not a run directory of this format."""
    history = History(run_dir)
    history.header  # noqa: B018 - loads, so that a foreign directory is refused here
    return history
