"""Writes a complete small run directory in the real format: a leader is killed, a clean failover, no anomaly.

In: a Shape. Out: a directory that every check passes. It stands in where no recorded run is at hand, and gives
generated tests any number of clean histories. All of it follows from the shape: no clock, no chance.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from chaoskafka.history import tables
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.tables import TopicPartition, WorkerReport
from chaoskafka.history.tape import Change, Outcome
from tests.histories.frame import end_of, events_of, header_of, observations_of, report_of
from tests.histories.shape import MS, T0_NS, TOPIC, Shape


def build(run_dir: Path, shape: Shape | None = None) -> Path:
    """Write the run and return its directory, which must not exist."""
    shape = shape or Shape()
    for folder in ("ops/send", "ops/read", "audit/record", "audit/batch"):
        (run_dir / folder).mkdir(parents=True)
    header_of(shape).save(run_dir)
    _lines(run_dir / "events.jsonl", events_of(shape))
    _lines(run_dir / "observations.jsonl", observations_of(shape))
    sends: list[dict[str, Any]] = []
    polls: list[dict[str, Any]] = []
    ends = []
    for number in range(shape.partitions):
        partition = TopicPartition(TOPIC, number)
        rows = list(_sends(shape, number))
        log = _log(shape, number, rows)
        reads = list(_reads(shape, number, log, polls))
        sends += rows
        ends.append(end_of(shape, number, len(log)))
        _write(run_dir / "ops/send" / partition.file, [_send(row) for row in rows], tables.SEND, tables.SEND_ORDER)
        _write(run_dir / "ops/read" / partition.file, reads, tables.READ, tables.READ_ORDER)
        _write(run_dir / "audit/record" / partition.file, [_record(row) for row in log], tables.RECORD, ("offset",))
        _write(run_dir / "audit/batch" / partition.file, list(_batches(log)), tables.BATCH, ("base_offset",))
    _json(run_dir / "audit/ends.json", [asdict(end) for end in ends])
    _json(run_dir / "ops/workers.json", [asdict(report) for report in _reports(shape, sends)])
    _write(run_dir / "ops/poll.parquet", polls, tables.POLL, ("consumer", "consumer_incarnation", "poll"))
    _write(run_dir / "ops/assignment.parquet", list(_assignments(shape)), tables.ASSIGNMENT, ("consumer", "ordinal"))
    _write(run_dir / "ops/commit.parquet", [], tables.COMMIT, ("consumer", "ordinal"))
    _write(run_dir / "ops/error.parquet", [], tables.ERROR, ("worker", "ordinal"))
    _write(run_dir / "ops/transaction.parquet", [], tables.TRANSACTION, ("producer", "txn"))
    return run_dir


def _sends(shape: Shape, partition: int) -> Iterator[dict[str, Any]]:
    """What each producer offered to one partition; with acks=all nothing is acknowledged from the kill to the ISR's
    shrinking, wherever the leader is."""
    for producer in shape.producer_ids:
        first = producer == shape.producer_ids[0]
        load_ms = int((shape.stopped_ns - T0_NS) / MS)
        for sequence, at_ms in enumerate(range(producer, load_ms, shape.every_ms)):
            invoked_ns = T0_NS + at_ms * MS
            served_again_ns = shape.elected_ns + 40 * MS
            stalled = shape.acted_ns - 2 * MS <= invoked_ns < served_again_ns
            # What waited is served in the order of sending, 1 us apart.
            answered_ns = served_again_ns + sequence * 1_000 if stalled else invoked_ns + 4 * MS
            fate = _fate(shape, sequence) if first else "acknowledged"
            stored = fate in ("acknowledged", "unconfirmed", "without offset")
            yield {
                "producer": producer,
                "sequence": sequence,
                "invoked_ns": invoked_ns,
                "answered_ns": answered_ns,
                "fate": fate,
                "stored": stored,
                "partition": partition,
                "offset": None,
            }


def _fate(shape: Shape, sequence: int) -> str:
    for fate, chosen in {
        "refused": shape.refused,
        "vanished": shape.vanished,
        "unconfirmed": shape.unconfirmed,
        "without offset": shape.without_offset,
    }.items():
        if sequence in chosen:
            return fate
    return "acknowledged"


def _log(shape: Shape, partition: int, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The stored messages in the order of the log, with their offsets and batches; offsets are told to the rows."""
    stored = sorted((row for row in rows if row["stored"]), key=lambda row: (row["answered_ns"], row["producer"]))
    numbers = dict.fromkeys(shape.producer_ids, 0)  # the broker's sequence per producer id: what was stored, densely
    base = base_number = 0
    before: dict[str, Any] | None = None
    for offset, row in enumerate(stored):
        epoch = shape.new_epoch(partition) if row["answered_ns"] >= shape.elected_ns else shape.epoch(partition)
        number = numbers[row["producer"]]
        numbers[row["producer"]] += 1
        same_batch = (
            before is not None
            and before["producer"] == row["producer"]
            and before["epoch"] == epoch
            and offset - base < shape.batch
        )
        if not same_batch:
            base, base_number = offset, number
        row |= {"offset": offset, "base_offset": base, "base_sequence": base_number, "epoch": epoch}
        row["idempotent"] = shape.idempotent
        before = row
    return stored


def _send(row: dict[str, Any]) -> dict[str, Any]:
    fate = row["fate"]
    outcome = {"refused": Outcome.REJECTED, "vanished": Outcome.INDETERMINATE, "unconfirmed": Outcome.INDETERMINATE}
    acked = fate in ("acknowledged", "without offset")
    completed = fate != "unconfirmed"  # that one never heard back
    return {
        "producer": row["producer"],
        "incarnation": 0,
        "sequence": row["sequence"],
        "outcome": outcome.get(fate, Outcome.ACKNOWLEDGED),
        "completed": completed,
        "offset": row["offset"] if fate == "acknowledged" else None,
        "invoked_ns": row["invoked_ns"],
        "completed_ns": row["answered_ns"] if completed else None,
        "latency_ns": row["answered_ns"] - row["invoked_ns"] - MS if acked else None,
        "code": {"refused": -184, "vanished": -192}.get(fate, 0),  # librdkafka: queue full, message timed out
        "txn": None,
    }


def _record(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "offset": row["offset"],
        "base_offset": row["base_offset"],
        "timestamp_ms": row["invoked_ns"] // MS,
        "state": PayloadState.OURS,
        "producer": row["producer"],
        "incarnation": 0,
        "sequence": row["sequence"],
        "sent_topic": 0,
        "sent_partition": row["partition"],
    }


def _batches(log: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for base, rows in groupby(log, key=itemgetter("base_offset")):
        inside = list(rows)
        first = inside[0]
        yield {
            "base_offset": base,
            "last_offset": inside[-1]["offset"],
            "leader_epoch": first["epoch"],
            "producer_id": 1000 + first["producer"] if first["idempotent"] else -1,
            "producer_epoch": 0 if first["idempotent"] else -1,
            "base_sequence": first["base_sequence"] if first["idempotent"] else -1,
            "count": len(inside),
            "max_timestamp_ms": max(row["invoked_ns"] for row in inside) // MS,
            "transactional": False,
            "control": None,
        }


def _reads(
    shape: Shape, partition: int, log: list[dict[str, Any]], polls: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Each record once, a little after it was answered; the chosen ones twice. One poll per record."""
    consumer = shape.reader(partition)
    mine = sum(1 for poll in polls if poll["consumer"] == consumer)
    given = [row for row in log for _ in range(2 if row["offset"] in shape.redelivered else 1)]
    for ordinal, row in enumerate(given, start=mine):
        read_ns = row["answered_ns"] + 10 * MS
        polls.append(
            {
                "consumer": consumer,
                "consumer_incarnation": 0,
                "poll": ordinal,
                "begin_ns": read_ns - 3 * MS,
                "end_ns": read_ns,
                "count": 1,
                "code": 0,
            }
        )
        yield {
            "consumer": consumer,
            "consumer_incarnation": 0,
            "ordinal": ordinal,
            "poll": ordinal,
            "read_ns": read_ns,
            "offset": row["offset"],
            "leader_epoch": row["epoch"],
            "state": PayloadState.OURS,
            "producer": row["producer"],
            "incarnation": 0,
            "sequence": row["sequence"],
            "sent_topic": 0,
            "sent_partition": partition,
        }


def _reports(shape: Shape, sends: list[dict[str, Any]]) -> Iterator[WorkerReport]:
    for worker in (*shape.producer_ids, *shape.consumer_ids):
        fates = [row["fate"] for row in sends if row["producer"] == worker]
        refused = fates.count("refused")
        indeterminate = fates.count("vanished") + fates.count("unconfirmed")
        yield report_of(
            shape,
            worker,
            offered=len(fates),
            refused=refused,
            accepted=len(fates) - refused,
            acknowledged=len(fates) - refused - indeterminate,
            indeterminate=indeterminate,
        )


def _assignments(shape: Shape) -> Iterator[dict[str, Any]]:
    for partition in range(shape.partitions):
        yield {
            "consumer": shape.reader(partition),
            "consumer_incarnation": 0,
            "ordinal": partition,
            "change": Change.ASSIGNED,
            "topic": TOPIC,
            "partition": partition,
            "at_ns": T0_NS - 500 * MS,
        }


def _write(path: Path, rows: list[dict[str, Any]], schema: pl.Schema, order: tuple[str, ...]) -> None:
    pl.DataFrame(rows, schema=schema).sort(order).write_parquet(path)


def _json(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(rows, indent=1) + "\n")


def _lines(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
