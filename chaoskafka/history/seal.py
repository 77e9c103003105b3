"""Seal a run: the tapes that its workers left become the Parquet tables of `history/tables.py`, and `ops/workers.json`.

In: `ops/tapes/<worker name>/` with what each worker left (tape, worker.json) and what its host saw (exit.json: `code`,
`signal`, `out_of_memory`, `killed_by_us`). Out: the tables, one WorkerReport per worker; the tapes are deleted.
A missing or torn tape is a report with `tape_whole` false, never an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from chaoskafka.errors import HarnessError, HistoryError
from chaoskafka.history import tables
from chaoskafka.history.header import RunHeader
from chaoskafka.history.tables import TopicPartition, WorkerReport
from chaoskafka.history.tape import Kind
from chaoskafka.history.tape_columns import (
    assignment_table,
    commit_table,
    error_table,
    poll_table,
    read_table,
    send_table,
    transaction_table,
)
from chaoskafka.history.tape_reader import Tape, read_tape
from chaoskafka.history.worker_report import report_of

_WHOLE_RUN = {
    "poll": (poll_table, tables.POLL, ("consumer", "consumer_incarnation", "poll")),
    "assignment": (assignment_table, tables.ASSIGNMENT, ("consumer", "consumer_incarnation", "ordinal")),
    "commit": (commit_table, tables.COMMIT, ("consumer", "consumer_incarnation", "ordinal")),
    "transaction": (transaction_table, tables.TRANSACTION, ("producer", "incarnation", "txn", "begin_ns")),
    "error": (error_table, tables.ERROR, ("worker", "incarnation", "ordinal")),
}
_PER_PARTITION = {
    "send": (Kind.SEND, send_table, tables.SEND, tables.SEND_ORDER),
    "read": (Kind.READ, read_table, tables.READ, tables.READ_ORDER),
}


def seal(run_dir: Path) -> list[WorkerReport]:
    """Write the tables and the reports, then delete the tapes. Idempotent: `ops/workers.json` is written last, and once
    it is there only what is left to delete is deleted. Blocks (about 3 s per million records).

    Raises HarnessError when a table cannot be read back as it was written; the tapes are then still there.
    """
    ops = run_dir / "ops"
    ops.mkdir(parents=True, exist_ok=True)
    directories = sorted(path for path in (ops / "tapes").glob("*") if path.is_dir())
    done = ops / "workers.json"
    if not done.exists():
        header = _header(run_dir)
        found = [(directory, *_read(directory)) for directory in directories]
        tapes = [tape for _, tape, _ in found if tape is not None]
        _write_per_partition(ops, tapes)
        _write_whole_run(ops, tapes)
        reports = sorted(
            (report_of(directory, tape, flaws, header) for directory, tape, flaws in found),
            key=lambda report: (report.worker, report.incarnation),
        )
        _write_text(done, json.dumps([asdict(report) for report in reports], indent=1) + "\n")
    for directory in directories:
        for segment in (*directory.glob("*.tape"), *directory.glob("*.tape.new")):
            segment.unlink()
    return [WorkerReport(**{**r, "topics": tuple(r["topics"]), "fatal": tuple(r["fatal"])}) for r in _rows(done)]


def _read(directory: Path) -> tuple[Tape | None, tuple[str, ...]]:
    try:
        tape = read_tape(directory)
    except HistoryError as missing:
        return None, (str(missing),)
    return tape, tape.flaws


def _header(run_dir: Path) -> RunHeader | None:
    try:
        return RunHeader.load(run_dir)
    except HistoryError:  # a run that broke before its header still has its tapes sealed
        return None


def _write_per_partition(ops: Path, tapes: Sequence[Tape]) -> None:
    for name, (kind, table, schema, order) in _PER_PARTITION.items():
        rows: dict[TopicPartition, list[pl.DataFrame]] = {}
        for tape in tapes:
            for place, frame in _by_partition(tape, kind):
                rows.setdefault(place, []).append(_shaped(table(tape.header, frame), schema, tape))
        for place, frames in rows.items():
            _write_table(ops / name / place.file, pl.concat(frames).sort(*order))


def _by_partition(tape: Tape, kind: Kind) -> Iterable[tuple[TopicPartition, pl.DataFrame]]:
    topics = tape.header.topics
    for (topic, partition), frame in tape.frame(kind).partition_by("topic", "partition", as_dict=True).items():
        # A record that names no topic of the run is one of the tape's flaws; there is no table for it.
        if topic < len(topics):
            yield TopicPartition(topics[topic], partition), frame


def _write_whole_run(ops: Path, tapes: Sequence[Tape]) -> None:
    for name, (table, schema, order) in _WHOLE_RUN.items():
        frames = [_shaped(table(tape), schema, tape) for tape in tapes]
        _write_table(ops / f"{name}.parquet", pl.concat([pl.DataFrame(schema=schema), *frames]).sort(*order))


def _shaped(frame: pl.DataFrame, schema: pl.Schema, tape: Tape) -> pl.DataFrame:
    # On a damaged tape any field may hold anything: what does not fit becomes null there, and an error nowhere else.
    return frame.select(schema.names()).cast(schema, strict=tape.whole)


def _write_table(path: Path, frame: pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".parquet.partial")
    tables.write_table(frame, partial)
    if not pl.read_parquet(partial).equals(frame):
        raise HarnessError(f"{partial}: reads back otherwise than it was written")
    partial.replace(path)


def _write_text(path: Path, text: str) -> None:
    partial = path.with_suffix(".json.partial")
    partial.write_text(text)
    partial.replace(path)


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = json.loads(path.read_text())
    assert isinstance(rows, list)
    return rows
