"""Read a sealed run directory as a History: the one input of every check and of the timing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from chaoskafka.errors import HistoryError
from chaoskafka.history import tables
from chaoskafka.history.events import Event, FaultWindow, fault_windows, read_events
from chaoskafka.history.header import RunHeader
from chaoskafka.history.kept import Kept, once
from chaoskafka.history.observations import OBSERVATION
from chaoskafka.history.tables import AuditedEnd, TopicPartition, WorkerReport


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
        rows = self._json("ops/workers.json")
        return [WorkerReport(**{**r, "topics": tuple(r["topics"]), "fatal": tuple(r["fatal"])}) for r in rows]

    @cached_property
    def ends(self) -> Mapping[TopicPartition, AuditedEnd]:
        """How far the audit got; a partition that it never reached is missing."""
        rows = [AuditedEnd(**row) for row in self._json("audit/ends.json")]
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
        """Empty when the observer never wrote; then nothing that needs it can be judged."""
        path = self.run_dir / "observations.jsonl"
        if not path.exists() or path.stat().st_size == 0:
            return pl.DataFrame(schema=OBSERVATION)
        return pl.read_ndjson(path, schema=OBSERVATION, ignore_errors=True)

    def _table(self, name: str, schema: pl.Schema) -> pl.DataFrame:
        path = self.run_dir / name
        if not path.exists():
            return pl.DataFrame(schema=schema)
        try:
            return pl.read_parquet(path).match_to_schema(schema)
        except (pl.exceptions.PolarsError, OSError) as broken:
            raise HistoryError(f"{path}: damaged table: {broken}") from broken

    def _json(self, name: str) -> list[dict[str, Any]]:
        path = self.run_dir / name
        if not path.exists():
            return []
        try:
            rows = json.loads(path.read_text())
        except ValueError as broken:
            raise HistoryError(f"{path}: damaged: {broken}") from broken
        if not isinstance(rows, list):
            raise HistoryError(f"{path}: expected a list")
        return rows


def open_history(run_dir: Path) -> History:
    """Raises HistoryError when `run_dir` is not a run directory of this format."""
    history = History(run_dir)
    history.header  # noqa: B018 - loads, so that a foreign directory is refused here
    return history
