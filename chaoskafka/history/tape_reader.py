"""Read a tape back, cut at whatever instant, and say whether it is whole.

In: a directory as `history/tape.py` describes it. Out: `Tape`: its records as Polars frames by kind, and its flaws. A
flaw is never an exception: what can be read is given, and the flaw says why the rest cannot be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from chaoskafka.errors import HistoryError
from chaoskafka.history.tape import BEGUN_AT_ONCE_MAX, FIELDS, RECORD_BYTES, Kind, Outcome, TapeHeader
from chaoskafka.history.tape_layout import LAYOUT, Records


@dataclass(frozen=True, slots=True)
class Tape:
    """One worker's records in the order of writing. `flaws` is empty if and only if the tape is whole."""

    header: TapeHeader
    records: Records
    slots: npt.NDArray[np.int64]  # place on the tape of each record
    flaws: tuple[str, ...]
    unread_bytes: int  # bytes that are set, but belong to no record and to none that was just being begun

    @property
    def whole(self) -> bool:
        """Header, every segment and every record from the first to the last are readable, send sequences dense."""
        return not self.flaws

    def frame(self, kind: Kind) -> pl.DataFrame:
        """All records of one kind, a column per field, and `slot`."""
        chosen = self.records["kind"] == kind
        rows = self.records[chosen]
        columns = {name: np.ascontiguousarray(rows[name]) for name in FIELDS}
        return pl.DataFrame({"slot": self.slots[chosen], **columns})


def read_tape(directory: Path) -> Tape:
    """Read everything that is on the tape. Raises HistoryError only when there is no readable header."""
    header = TapeHeader.load(directory)
    flaws: list[str] = []
    if header.segment_bytes < RECORD_BYTES:
        raise HistoryError(f"{directory}: segments of {header.segment_bytes} bytes hold no record")
    raw = _raw(directory, header, flaws)
    used = np.flatnonzero(raw["kind"] != Kind.UNUSED)
    records = raw[used]
    unread = _unread_bytes(raw, len(used))
    if unread:
        flaws.append(f"{unread} bytes are set behind the end")
    if len(used) and used[-1] != len(used) - 1:
        flaws.append(f"{used[-1] + 1 - len(used)} unused slots between used ones")
    if header.records is not None and header.records != len(used):
        flaws.append(f"the writer closed it with {header.records} records; {len(used)} are there")
    flaws += _implausible(records, header)
    flaws += _holes(records)
    return Tape(header, records, used.astype(np.int64), tuple(flaws), unread)


def _raw(directory: Path, header: TapeHeader, flaws: list[str]) -> Records:
    """Every slot of every segment, used or not, up to the first segment that is missing."""
    per_segment = header.segment_bytes // RECORD_BYTES
    found = sorted(directory.glob("[0-9][0-9][0-9][0-9].tape"))
    parts: list[Records] = []
    for index, path in enumerate(found):
        if path.stem != f"{index:04d}":
            flaws.append(f"segment {index:04d} is missing, {path.stem} is there")
            break
        part = np.fromfile(path, dtype=LAYOUT, count=per_segment)
        # A closed tape is cut behind its last record; whether all are there is then known from the header's number.
        if path.stat().st_size != header.segment_bytes and not (header.records is not None and path == found[-1]):
            flaws.append(f"segment {path.stem} has {path.stat().st_size} of {header.segment_bytes} bytes")
            # Unread slots stay in their places, so that what follows keeps its own.
            part = np.concatenate([part, np.zeros(per_segment - len(part), dtype=LAYOUT)])
        parts.append(part)
    if not parts:
        flaws.append("no segment")
    return np.concatenate(parts) if parts else np.zeros(0, dtype=LAYOUT)


def _unread_bytes(raw: Records, used: int) -> int:
    """Bytes behind the last record that no worker leaves when it is killed while beginning records.

    One slot may be half written. It may be the first of a burst: then those behind it hold what is stored of a SEND
    before its call, the instant first, and nothing of an outcome.
    """
    rest = raw[used + 1 :]
    rest = rest[rest["kind"] == Kind.UNUSED]
    burst = rest[: BEGUN_AT_ONCE_MAX - 1]
    ended = np.zeros(len(burst), dtype=bool)
    for name in ("outcome", "code", "peer", "peer_incarnation", "end_ns", "offset", "a", "peer_place"):
        ended |= burst[name] != 0
    begun = (burst["begin_ns"] != 0) & ~ended
    # A burst has no gaps: what is behind the first slot without an instant belongs to none.
    several = len(burst) if begun.all() else int(np.argmin(begun))
    rest = rest[several:]
    return int(np.count_nonzero(np.ascontiguousarray(rest).view(np.uint8))) if len(rest) else 0


def _implausible(records: Records, header: TapeHeader) -> list[str]:
    flaws = []
    if foreign := int(np.count_nonzero(records["kind"] > max(Kind))):
        flaws.append(f"{foreign} records of no known kind")
    if odd := int(np.count_nonzero(records["outcome"] > max(Outcome))):
        flaws.append(f"{odd} records with no known outcome")
    named = np.isin(records["kind"], [Kind.SEND, Kind.READ, Kind.ASSIGNMENT, Kind.COMMIT])
    if lost := int(np.count_nonzero(records["topic"][named] >= len(header.topics))):
        flaws.append(f"{lost} records of topics that the header does not name")
    return flaws


def _holes(records: Records) -> list[str]:
    """Send sequences are dense from 0 in the order of the tape, per topic-partition; so are the ordinals of polls."""
    flaws = []
    for kind, keys in ((Kind.SEND, ["topic", "partition"]), (Kind.POLL, ["kind"])):
        rows = records[records["kind"] == kind]
        frame = pl.DataFrame({name: np.ascontiguousarray(rows[name]) for name in {*keys, "sequence"}})
        expected = pl.int_range(pl.len()).over(keys)
        broken = frame.filter(pl.col("sequence") != expected)
        if not broken.is_empty():
            flaws.append(f"{kind.name} sequences are not dense from 0: {broken.height} records out of place")
    return flaws
