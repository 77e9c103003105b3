"""Tape v1: the layout of the file in which one worker records each of its operations. Writer and reader import it.

A tape is a directory: `tape.json` (TapeHeader) and segments `0000.tape`, `0001.tape`, … of fixed-width little-endian
records, each segment SEGMENT_BYTES long and allocated before use (a full disk under a mapping would kill the worker).
A record whose kind byte is 0 was never begun: the tape ends there. A record is begun before the client call, its kind
byte stored last and on its own, and completed in place, its outcome byte stored last and on its own, so a worker killed
at any instant leaves a truthful tape: what was never completed is indeterminate. Several SENDs may be begun at once:
`begin_ns` of all, their other fields, then the kind bytes from the first to the last; so may several be completed, the
outcome bytes last. A writer that closes its tape first
says in the header how many records it holds, then cuts the last segment behind the last record; without that number
every segment has its full length, and a shorter one is damage.

Fields by kind (unused ones are 0; instants are CLOCK_MONOTONIC ns):

SEND         topic, partition: where to; sequence: within (worker, incarnation, topic, partition), dense from 0;
             begin_ns: before produce(); end_ns: delivery callback; offset: acknowledged one, -1 none;
             a: client's own latency in ns, -1 none; b: payload bytes; code: error code; outcome
POLL         sequence: ordinal; begin_ns, end_ns: around poll; offset: number of records; code; outcome ACKNOWLEDGED or
             INDETERMINATE (an error came instead of records)
READ         topic, partition, offset, code: the record's place and its PayloadState; sequence: the poll's ordinal;
             end_ns: after the poll; b: leader epoch, -1 none; which message it carried: (*)
ASSIGNMENT   topic, partition; sequence: ordinal; end_ns: callback; b: Change
COMMIT       topic, partition, offset: committed position; sequence: ordinal; begin_ns, end_ns; a: generation, -1
             unknown; code; outcome ACKNOWLEDGED or INDETERMINATE
TRANSACTION  sequence: ordinal; begin_ns, end_ns; b: Transaction; code; outcome
ERROR        sequence: ordinal; end_ns: callback; b: 1 if fatal; code

(*) A READ names the message it carried in three fields more: `peer` and `peer_incarnation` (producer of the payload)
and `a` (its sequence); `peer_place` holds the topic index (high 32 bits) and partition (low 32) that the payload
says it was sent to. SEND, COMMIT and TRANSACTION carry the transaction's ordinal in `txn` (-1: none).
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path

from chaoskafka.errors import HistoryError

FORMAT = 1
RECORD = struct.Struct("<BBHiiHHqqqqqqqq")
RECORD_BYTES = RECORD.size
BEGUN_AT_ONCE_MAX = 1000  # records begun at once; a worker killed meanwhile leaves at most so many half written
SEGMENT_BYTES = 64 * 1024 * 1024  # holds 838,860 records; the rest of the last slot stays empty
KIND_AT = 0  # byte positions within a record
OUTCOME_AT = 1
CODE_AT = 8
COMPLETION_AT = 32  # end_ns, offset and a lie side by side: what a completion stores before the outcome
FIELDS = (
    "kind", "outcome", "topic", "partition", "code", "peer", "peer_incarnation",
    "sequence", "begin_ns", "end_ns", "offset", "a", "b", "txn", "peer_place",
)  # fmt: skip


class Kind(IntEnum):
    """What a record tells of; 0 is an unused slot."""

    UNUSED = 0
    SEND = 1
    POLL = 2
    READ = 3
    ASSIGNMENT = 4
    COMMIT = 5
    TRANSACTION = 6
    ERROR = 7


class Outcome(IntEnum):
    """How one operation ended. PENDING on a sealed tape means indeterminate: it was never completed."""

    PENDING = 0
    ACKNOWLEDGED = 1
    REJECTED = 2
    INDETERMINATE = 3


class Change(IntEnum):
    """Field b of an ASSIGNMENT."""

    ASSIGNED = 1
    REVOKED = 2
    LOST = 3


class Transaction(IntEnum):
    """Field b of a TRANSACTION."""

    BEGIN = 1
    COMMIT = 2
    ABORT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeHeader:
    """Whose tape it is. `topics` maps the topic index (list position) to its name."""

    format: int
    run_id: str
    worker: int  # id of the worker; of a producer: the producer id in payloads
    incarnation: int
    role: str  # "produce" or "consume"
    group: str | None  # consumer group, of consumers
    topics: tuple[str, ...]
    clock: str  # chaoskafka.clock.clock_id(): instants on different clocks are never compared
    segment_bytes: int = SEGMENT_BYTES
    records: int | None = None  # how many the tape holds; None until the writer closed it

    def save(self, directory: Path) -> None:
        """Write atomically, so that a killed worker leaves the old header or the new one."""
        path = directory / "tape.json"
        partial = path.with_suffix(".json.partial")
        partial.write_text(json.dumps(asdict(self), indent=1) + "\n")
        partial.replace(path)

    @classmethod
    def load(cls, directory: Path) -> TapeHeader:
        """Raises HistoryError when it is missing, foreign or of another format."""
        path = directory / "tape.json"
        try:
            raw = json.loads(path.read_text())
            header = cls(**{**raw, "topics": tuple(raw["topics"])})
        except (OSError, ValueError, TypeError, KeyError) as broken:
            raise HistoryError(f"{path}: not a tape header: {broken}") from broken
        if header.format != FORMAT:
            raise HistoryError(f"{path}: tape format {header.format}; this version reads {FORMAT}")
        return header
