"""Writes the run directory that `judging` judges: 1,000,000 messages sent, acknowledged, audited and delivered once.

`python -m benchmarks.million DIRECTORY`. A leader is killed in the middle and everything goes well. All of it follows
from the constants here: no clock, no chance. What surrounds the messages is that of the histories of the tests.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from chaoskafka.history import tables
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.tape import Outcome
from chaoskafka.phases import Phase
from chaoskafka.scenario.model import DEFAULT_EXPECT
from tests.histories.frame import end_of, events_of, header_of, observations_of, report_of
from tests.histories.shape import MS, T0_NS, TOPIC, S, Shape

EACH = 125_000  # messages of one partition: 100 a second for some twenty minutes
BATCH = 5  # messages of one record batch
SHAPE = Shape(
    partitions=8,
    producers=1,
    consumers=2,
    every_ms=10,
    before_s=600.0,
    down_s=15.0,
    after_s=633.5,
    refused=(),
    vanished=(),
    unconfirmed=(),
    without_offset=(),
    redelivered=(),
)
PRODUCER = SHAPE.producer_ids[0]
MESSAGES = SHAPE.partitions * EACH
EXPECT: tuple[dict[str, Any], ...] = (
    *({word: {}} for word in (*DEFAULT_EXPECT, "no_duplicates", "ordered")),
    {"new_leader": {"within_s": 5.0}},
    {"unavailable": {"at_most_s": 5.0}},
)


def write(run_dir: Path) -> None:
    """Write the run. Blocks for seconds."""
    for folder in ("ops/send", "ops/read", "audit/record", "audit/batch"):
        (run_dir / folder).mkdir(parents=True)
    replace(header_of(SHAPE), expect=EXPECT).save(run_dir)
    _lines(run_dir / "events.jsonl", _events())
    _lines(run_dir / "observations.jsonl", observations_of(SHAPE))
    for number in range(SHAPE.partitions):
        _partition(run_dir, number)
    ends = [end_of(SHAPE, number, EACH) for number in range(SHAPE.partitions)]
    counts = dict.fromkeys(("offered", "accepted", "acknowledged"), MESSAGES)
    reports = [report_of(SHAPE, worker, **counts) for worker in (*SHAPE.producer_ids, *SHAPE.consumer_ids)]
    _json(run_dir / "audit/ends.json", [asdict(end) for end in ends])
    _json(run_dir / "ops/workers.json", [asdict(each) for each in reports])
    _polls().write_parquet(run_dir / "ops/poll.parquet")


def _partition(run_dir: Path, number: int) -> None:
    """All that was recorded of one partition: message k has sequence k and offset k."""
    sequence = np.arange(EACH)
    invoked_ns = T0_NS + sequence * SHAPE.every_ms * MS
    answered_ns = _answered_ns(invoked_ns)
    later = answered_ns >= SHAPE.elected_ns
    epoch = np.where(later, SHAPE.new_epoch(number), SHAPE.epoch(number))
    turn = int(np.argmax(later))  # the first offset under the new leader, whose batches begin anew
    base = np.where(later, turn + (sequence - turn) // BATCH * BATCH, sequence // BATCH * BATCH)
    whose = {"producer": PRODUCER, "incarnation": 0, "sequence": sequence}
    place = {"state": PayloadState.OURS, "sent_topic": 0, "sent_partition": number}
    consumer, ordinal = _turns(number, sequence)
    files = {
        "ops/send": (
            tables.SEND,
            {
                **whose,
                "outcome": Outcome.ACKNOWLEDGED,
                "completed": True,
                "offset": sequence,
                "invoked_ns": invoked_ns,
                "completed_ns": answered_ns,
                "latency_ns": answered_ns - invoked_ns - MS,
                "code": 0,
                "txn": None,
            },
        ),
        "ops/read": (
            tables.READ,
            {
                **whose,
                **place,
                "consumer": consumer,
                "consumer_incarnation": 0,
                "ordinal": ordinal,
                "poll": sequence,
                "read_ns": answered_ns + 10 * MS,
                "offset": sequence,
                "leader_epoch": epoch,
            },
        ),
        "audit/record": (
            tables.RECORD,
            {**whose, **place, "offset": sequence, "base_offset": base, "timestamp_ms": invoked_ns // MS},
        ),
    }
    name = TopicPartition(TOPIC, number).file
    for folder, (schema, columns) in files.items():
        _table(columns, schema).write_parquet(run_dir / folder / name)
    records = pl.DataFrame({"base_offset": base, "offset": sequence, "leader_epoch": epoch, "at_ms": invoked_ns // MS})
    batches = records.group_by("base_offset", maintain_order=True).agg(
        pl.col("offset").last().alias("last_offset"),
        pl.col("leader_epoch").first(),
        pl.lit(1000 + PRODUCER).alias("producer_id"),
        pl.lit(0).alias("producer_epoch"),
        pl.col("offset").first().alias("base_sequence"),
        pl.len().alias("count"),
        pl.col("at_ms").max().alias("max_timestamp_ms"),
        pl.lit(value=False).alias("transactional"),
        pl.lit(None).alias("control"),
    )
    batches.cast(tables.BATCH).write_parquet(run_dir / "audit/batch" / name)


def _answered_ns(invoked_ns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """4 ms after the sending; what was sent without a leader waits, and is then served in order, 1 us apart."""
    served_ns = SHAPE.elected_ns + 40 * MS
    stalled = (invoked_ns >= SHAPE.acted_ns - 2 * MS) & (invoked_ns < served_ns)
    return np.where(stalled, served_ns + (np.cumsum(stalled) - 1) * 1_000, invoked_ns + 4 * MS)


def _turns(number: int, sequence: np.ndarray[Any, Any]) -> tuple[int, np.ndarray[Any, Any]]:
    """Who reads a partition, and the place of each record on that consumer's tape: its partitions take turns."""
    consumer = SHAPE.reader(number)
    own = [other for other in range(SHAPE.partitions) if SHAPE.reader(other) == consumer]
    return consumer, sequence * len(own) + own.index(number)


def _polls() -> pl.DataFrame:
    """Each poll gave a consumer one record of each of its partitions."""
    poll = np.arange(EACH)
    read_ns = _answered_ns(T0_NS + poll * SHAPE.every_ms * MS) + 10 * MS
    each = {"consumer_incarnation": 0, "poll": poll, "begin_ns": read_ns - 3 * MS, "end_ns": read_ns, "code": 0}
    own = SHAPE.partitions // SHAPE.consumers
    return pl.concat(
        [_table({"consumer": consumer, **each, "count": own}, tables.POLL) for consumer in SHAPE.consumer_ids]
    )


def _events() -> Iterator[dict[str, Any]]:
    """The fault's own, between phases that all came to their end."""
    inner = [line for line in events_of(SHAPE) if line["event"] != "phase"]

    def phases(numbers: range, at_ns: int) -> Iterator[dict[str, Any]]:
        for number in numbers:
            for state in ("begin", "end"):
                name = Phase(number).title
                yield {**inner[0], "at_ns": at_ns, "event": "phase", "number": number, "name": name, "state": state}

    yield from phases(range(1, Phase.PLAY), T0_NS - S)
    yield from phases(range(Phase.PLAY, Phase.PLAY + 1), T0_NS)
    yield from inner
    yield from phases(range(Phase.RESTORE, Phase.JUDGE), SHAPE.stopped_ns)


def _table(columns: dict[str, Any], schema: pl.Schema) -> pl.DataFrame:
    each = {name: value if isinstance(value, np.ndarray) else pl.lit(value) for name, value in columns.items()}
    return pl.DataFrame().select(**each).select(pl.col(name).cast(kind) for name, kind in schema.items())


def _json(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(rows) + "\n")


def _lines(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
