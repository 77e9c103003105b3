"""The tables of a sealed history: their columns, types and order. Writer (seal) and reader (read) import them.

`ops/send/<topic>-<partition>.parquet`      one row per message offered to a producer        sorted by SEND_ORDER
`ops/read/<topic>-<partition>.parquet`      one row per record given to a consumer           sorted by READ_ORDER
`ops/poll.parquet`, `ops/assignment.parquet`, `ops/commit.parquet`, `ops/transaction.parquet`, `ops/error.parquet`
`ops/workers.json`                          one WorkerReport per worker incarnation
`audit/record/<topic>-<partition>.parquet`  one row per record that the audit read           sorted by offset
`audit/batch/<topic>-<partition>.parquet`   one row per record batch, control batches too    sorted by base_offset
`audit/ends.json`                           one AuditedEnd per partition

Instants are CLOCK_MONOTONIC ns (Int64). `null` means: not known or never happened. A partition that a table says
nothing about may have no file. Message identity is (producer, incarnation, partition-file, sequence).
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import polars as pl

WHO = {"producer": pl.UInt16, "incarnation": pl.UInt16, "sequence": pl.Int64}

SEND = pl.Schema(
    {
        **WHO,
        "outcome": pl.UInt8,  # tape.Outcome; PENDING was turned into INDETERMINATE by the seal
        "completed": pl.Boolean,  # false: the tape never saw an outcome
        "offset": pl.Int64,  # null: the acknowledgement carried none
        "invoked_ns": pl.Int64,
        "completed_ns": pl.Int64,  # instant of the delivery callback; null when never completed
        "latency_ns": pl.Int64,  # librdkafka's own produce-to-ack time; null when it gave none
        "code": pl.Int32,  # client error code, 0 none
        "txn": pl.Int64,  # transaction ordinal; null outside transactions
    }
)
SEND_ORDER = ("producer", "incarnation", "sequence")

READ = pl.Schema(
    {
        "consumer": pl.UInt16,
        "consumer_incarnation": pl.UInt16,
        "ordinal": pl.Int64,  # position on that consumer's tape: the order of delivery
        "poll": pl.Int64,
        "read_ns": pl.Int64,
        "offset": pl.Int64,
        "leader_epoch": pl.Int32,
        "state": pl.UInt8,  # identity.PayloadState
        "producer": pl.UInt16,
        "incarnation": pl.UInt16,
        "sequence": pl.Int64,
        "sent_topic": pl.Int32,  # topic index and partition that the payload says; of OURS only, else null
        "sent_partition": pl.Int32,
    }
)
READ_ORDER = ("consumer", "consumer_incarnation", "ordinal")

POLL = pl.Schema(
    {
        "consumer": pl.UInt16,
        "consumer_incarnation": pl.UInt16,
        "poll": pl.Int64,
        "begin_ns": pl.Int64,
        "end_ns": pl.Int64,
        "count": pl.Int64,
        "code": pl.Int32,
    }
)
ASSIGNMENT = pl.Schema(
    {
        "consumer": pl.UInt16,
        "consumer_incarnation": pl.UInt16,
        "ordinal": pl.Int64,
        "change": pl.UInt8,  # tape.Change
        "topic": pl.String,
        "partition": pl.Int32,
        "at_ns": pl.Int64,
    }
)
COMMIT = pl.Schema(
    {
        "consumer": pl.UInt16,
        "consumer_incarnation": pl.UInt16,
        "ordinal": pl.Int64,
        "topic": pl.String,
        "partition": pl.Int32,
        "offset": pl.Int64,
        "begin_ns": pl.Int64,
        "end_ns": pl.Int64,
        "outcome": pl.UInt8,
        "code": pl.Int32,
    }
)
TRANSACTION = pl.Schema(
    {
        "producer": pl.UInt16,
        "incarnation": pl.UInt16,
        "txn": pl.Int64,
        "step": pl.UInt8,
        "begin_ns": pl.Int64,
        "end_ns": pl.Int64,
        "outcome": pl.UInt8,
        "code": pl.Int32,
    }
)
ERROR = pl.Schema(
    {
        "worker": pl.UInt16,
        "incarnation": pl.UInt16,
        "ordinal": pl.Int64,
        "at_ns": pl.Int64,
        "code": pl.Int32,
        "fatal": pl.Boolean,
    }
)

RECORD = pl.Schema(
    {
        "offset": pl.Int64,
        "base_offset": pl.Int64,
        "timestamp_ms": pl.Int64,
        "state": pl.UInt8,  # identity.PayloadState
        "producer": pl.UInt16,
        "incarnation": pl.UInt16,
        "sequence": pl.Int64,
        "sent_topic": pl.Int32,  # of OURS only, else null
        "sent_partition": pl.Int32,
    }
)
BATCH = pl.Schema(
    {
        "base_offset": pl.Int64,
        "last_offset": pl.Int64,
        "leader_epoch": pl.Int32,
        "producer_id": pl.Int64,
        "producer_epoch": pl.Int16,
        "base_sequence": pl.Int32,
        "count": pl.Int32,
        "max_timestamp_ms": pl.Int64,
        "transactional": pl.Boolean,
        "control": pl.Int16,  # null: data; 0 abort marker, 1 commit marker (KIP-98), others as Kafka numbers them
    }
)


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"

    @property
    def file(self) -> str:
        """The name of this partition's tables."""
        return f"{self.topic}-{self.partition}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedEnd:
    """How far one partition was read by the audit. `settled` false: why the end is not trusted is in `reason`."""

    topic: str
    partition: int
    log_start: int
    end: int  # the settled end E (exclusive): the log end offset of two equal ListOffsets
    read_to: int  # exclusive; equals `end` when the whole partition was read
    settled: bool
    reason: str
    leader: int
    leader_epoch: int

    @property
    def whole(self) -> bool:
        """Read from the log start to a settled end."""
        return self.settled and self.read_to >= self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """One worker incarnation, as itself and as its host saw it. Counts of a producer; zeros of a consumer."""

    worker: int
    incarnation: int
    role: str  # "produce" or "consume"
    group: str | None
    topics: tuple[str, ...]
    closed: bool  # it wrote its own closing report; without one the counts below are those of the tape
    offered: int
    refused: int
    accepted: int
    acknowledged: int
    indeterminate: int
    lag_max_ms: float  # how late the open-loop schedule ever was
    lag_p99_ms: float
    drained: bool  # flush and close ended inside their bounds
    fatal: tuple[str, ...]  # fatal client errors, as text
    crash: str | None  # traceback of an exception of our own code
    exit_code: int | None  # None: still running when it was reaped
    exit_signal: int | None
    killed_by_us: bool  # a signal that the harness or a fault sent
    out_of_memory: bool  # the kernel's out-of-memory kill
    tape_whole: bool  # header, every segment and every record from the first to the last readable, sequences dense
    clock: str = ""  # the tape header's clock: instants on different clocks are never compared; "": not known


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write one table. Raises OSError, which Polars' own writing would not: it hides why there is no file in a text."""
    packed = io.BytesIO()
    frame.write_parquet(packed)
    path.write_bytes(packed.getbuffer())
