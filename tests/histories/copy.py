"""A copy of a run directory that may be altered: the tool by which a case turns a good history into a bad one.

In: any complete run directory, recorded or built. Out: the same with the rows changed that a case names.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from chaoskafka.history.places import messages
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import in_batches, loaded, workers_of
from chaoskafka.timing.failover import failover

Row = dict[str, Any]


def mirror(source: Path, target: Path) -> None:
    """Make a directory what another one is. A file that was copied bears the time of its original, to the nanosecond:
    whatever differs in time or size was altered."""
    target.mkdir(parents=True, exist_ok=True)
    wanted = {entry.name: entry for entry in os.scandir(source)}
    for entry in os.scandir(target):
        if entry.name not in wanted or entry.is_dir() != wanted[entry.name].is_dir():
            shutil.rmtree(entry.path) if entry.is_dir() else Path(entry.path).unlink()
    for name, entry in wanted.items():
        copied = target / name
        if entry.is_dir():
            mirror(Path(entry.path), copied)
        elif not copied.exists() or _stamp(copied.stat()) != _stamp(entry.stat()):
            shutil.copy2(entry.path, copied)


def _stamp(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_mtime_ns, stat.st_size


@dataclass(frozen=True)
class Copy:
    """One altered run. `partition`: the one that alterations mean, chosen once, before any of them."""

    run_dir: Path
    partition: TopicPartition

    @classmethod
    def at(cls, run_dir: Path) -> Copy:
        """A run that nobody else needs as it is now.

        Its partition is one whose leader the first fault hit; where none was, the first that was loaded.
        """
        history = History(run_dir)
        hit = [
            TopicPartition(times.topic, times.partition)
            for fault in failover(history)
            for times in fault.partitions
            if times.old_leader in fault.targets
        ]
        return cls(run_dir, (hit or loaded(history))[0])

    def into(self, run_dir: Path) -> Copy:
        """The same once more: in a new directory, or in that of an earlier copy, however that was altered."""
        mirror(self.run_dir, run_dir)
        return Copy(run_dir, self.partition)

    @property
    def history(self) -> History:
        """Read afresh, so that it shows every alteration made so far."""
        return History(self.run_dir)

    # Where a case takes its rows from: chosen by what they are, so that any base will do.

    @property
    def other_partition(self) -> TopicPartition:
        return next(partition for partition in loaded(self.history) if partition != self.partition)

    @property
    def producer(self) -> int:
        return workers_of(self.history, "produce")[0]

    @property
    def consumer(self) -> int:
        return workers_of(self.history, "consume")[0]

    def acked(self, place: float = 0.5) -> Row:
        """An acknowledged message of the first producer with its audited offset, `place` of the way through."""
        history, partition = self.history, self.partition
        sends = history.sends(partition).filter(
            (pl.col("outcome") == Outcome.ACKNOWLEDGED)
            & pl.col("offset").is_not_null()
            & (pl.col("producer") == self.producer)
        )
        assert sends.height > 20
        return sends.row(int(place * (sends.height - 1)), named=True)

    def record(self, offset: int) -> Row:
        """A record of the audit with what its batch says."""
        placed = in_batches(messages(self.history, self.partition), self.history.batches(self.partition))
        return placed.row(by_predicate=pl.col("offset") == offset, named=True)

    # How a case changes them.

    def table(
        self, kind: str, change: Callable[[pl.DataFrame], pl.DataFrame], at: TopicPartition | None = None
    ) -> None:
        """`kind`: ops/send, ops/read, audit/record, audit/batch of one partition, or a table of the whole run."""
        whole = self.run_dir / f"{kind}.parquet"
        path = whole if whole.exists() else self.run_dir / kind / (at or self.partition).file
        before = pl.read_parquet(path)
        change(before).cast(dict(before.schema)).write_parquet(path)

    def drop(self, kind: str, gone: pl.Expr, at: TopicPartition | None = None) -> None:
        def change(table: pl.DataFrame) -> pl.DataFrame:
            kept = table.filter(~gone.fill_null(value=False))
            assert kept.height < table.height, f"no row of {kind} to drop"
            return kept

        self.table(kind, change, at)

    def set(self, kind: str, where: pl.Expr, at: TopicPartition | None = None, **values: Any) -> None:
        def change(table: pl.DataFrame) -> pl.DataFrame:
            assert not table.filter(where).is_empty(), f"no row of {kind} to set"
            return table.with_columns(
                pl.when(where.fill_null(value=False)).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
                for name, value in values.items()
            )

        self.table(kind, change, at)

    def add(self, kind: str, row: Row, at: TopicPartition | None = None) -> None:
        self.table(kind, lambda table: pl.concat([table, pl.DataFrame([row], schema=table.schema)]), at)

    def json(self, name: str, change: Callable[[Any], Any]) -> None:
        path = self.run_dir / name
        path.write_text(json.dumps(change(json.loads(path.read_text()))))

    def header(self, **fields: Any) -> None:
        self.json("run.json", lambda header: {**header, **fields})

    def workload(self, word: str, **fields: Any) -> None:
        def change(header: Row) -> Row:
            return {**header, "workloads": [w | fields if w["word"] == word else w for w in header["workloads"]]}

        self.json("run.json", change)

    def topic(self, **fields: Any) -> None:
        self.json("run.json", lambda header: {**header, "topics": [topic | fields for topic in header["topics"]]})

    def report(self, worker: int, **fields: Any) -> None:
        self.json("ops/workers.json", lambda rows: [row | fields if row["worker"] == worker else row for row in rows])

    def count(self, worker: int, **more: int) -> None:
        """Add to counts of one worker's report."""

        def change(rows: list[Row]) -> list[Row]:
            return [
                row | {name: row[name] + by for name, by in more.items()} if row["worker"] == worker else row
                for row in rows
            ]

        self.json("ops/workers.json", change)

    def without_report(self, worker: int) -> None:
        self.json("ops/workers.json", lambda rows: [row for row in rows if row["worker"] != worker])

    def end(self, at: TopicPartition | None = None, **fields: Any) -> None:
        place = at or self.partition

        def change(rows: list[Row]) -> list[Row]:
            return [
                row | fields if (row["topic"], row["partition"]) == (place.topic, place.partition) else row
                for row in rows
            ]

        self.json("audit/ends.json", change)

    def lines(self, name: str, change: Callable[[Row], Row | None]) -> None:
        """Each line of a JSON lines file, as `change` returns it; None drops it."""
        path = self.run_dir / name
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        changed = [after for row in rows if (after := change(row)) is not None]
        assert changed != rows, f"nothing in {name} was changed"
        path.write_text("".join(json.dumps(row) + "\n" for row in changed))

    def event(self, event: str, state: str | None = None, **fields: Any) -> None:
        """Set fields of every event of a kind (and of a state, of faults)."""
        self.lines(
            "events.jsonl",
            lambda row: row | fields if row["event"] == event and row.get("state") == state else row,
        )

    def without_event(self, event: str, *states: str) -> None:
        self.lines(
            "events.jsonl",
            lambda row: None if row["event"] == event and (not states or row.get("state") in states) else row,
        )
