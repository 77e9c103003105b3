"""Write a tape: begin a record before the client call, complete it in place with the outcome.

In: one worker's operations, from one thread (librdkafka's callbacks come out of poll(), so they are on it too).
Out: a directory as `history/tape.py` describes it. Nothing here formats or logs; one begin or completion is a copy of
at most 80 bytes into a mapping.
"""

from __future__ import annotations

import mmap
import os
import struct
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from chaoskafka.errors import EnvironmentFailure, HarnessError
from chaoskafka.history.tape import (
    BEGUN_AT_ONCE_MAX,
    CODE_AT,
    COMPLETION_AT,
    KIND_AT,
    OUTCOME_AT,
    RECORD,
    RECORD_BYTES,
    Kind,
    Outcome,
    TapeHeader,
)
from chaoskafka.history.tape_layout import LAYOUT, Integers, Records

_SEND = struct.Struct("<2xHi8xqq24xqq8x")  # a RECORD whose other fields are zero
_COMPLETION = struct.Struct("<qqq")
_CODE = struct.Struct("<i")
_KIND_SEND = int(Kind.SEND)
_INSTANT_KINDS = frozenset({Kind.READ, Kind.ASSIGNMENT, Kind.ERROR})  # written whole; there is nothing to complete


class TapeWriter:
    """One tape, open for writing. A context manager; leaving closes it. Not thread-safe.

    Raises EnvironmentFailure when the disk cannot hold the next segment (before anything touches it), HarnessError when
    the directory holds a tape already.
    """

    def __init__(self, directory: Path, header: TapeHeader) -> None:
        if (directory / "tape.json").exists():
            raise HarnessError(f"{directory}: holds a tape already; an incarnation writes its own")
        self._directory, self._header = directory, header
        self._per_segment = header.segment_bytes // RECORD_BYTES
        if self._per_segment < 1:
            raise HarnessError(f"segment_bytes {header.segment_bytes} is below one record of {RECORD_BYTES}")
        self._half = self._per_segment // 2
        self._segments: list[mmap.mmap] = []
        self._records: list[Records] = []  # the same segments
        self._add(_allocate(directory, 0, header.segment_bytes))
        self._next: Future[mmap.mmap] | None = None
        self._ahead = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tape-ahead")
        self._used = 0
        self._completed = 0
        self._instants = 0
        self._closed = False
        # The header comes last: a directory with a header has a tape.
        header.save(directory)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def used(self) -> int:
        """Records begun so far."""
        return self._used

    @property
    def unfinished(self) -> int:
        """Records begun and still waiting for their outcome."""
        return self._used - self._completed - self._instants

    def begin(  # noqa: PLR0913 - the keywords are the fields of a record
        self,
        kind: Kind,
        *,
        topic: int = 0,
        partition: int = 0,
        code: int = 0,
        peer: int = 0,
        peer_incarnation: int = 0,
        sequence: int = 0,
        begin_ns: int = 0,
        end_ns: int = 0,
        offset: int = 0,
        a: int = 0,
        b: int = 0,
        txn: int = 0,
        peer_place: int = 0,
    ) -> int:
        """Begin a record of any kind; returns its slot, for `complete`. READ, ASSIGNMENT and ERROR are whole by this.

        Waits only if the next segment, asked for when half of this one was used, is not there yet.
        """
        slot = self._used
        segment, position = self._room(slot)
        # Kind 0 first and the kind byte on its own last: killed in between, the tape simply ends before this record.
        RECORD.pack_into(
            segment, position, Kind.UNUSED, Outcome.PENDING, topic, partition, code, peer, peer_incarnation,
            sequence, begin_ns, end_ns, offset, a, b, txn, peer_place,
        )  # fmt: skip
        segment[position + KIND_AT] = kind
        self._used = slot + 1
        if kind in _INSTANT_KINDS:
            self._instants += 1
        return slot

    def begin_send(self, topic: int, partition: int, sequence: int, begin_ns: int, size_bytes: int) -> int:
        """`begin` of a SEND outside transactions, in a third of its time; a flat-out producer needs it."""
        slot = self._used
        segment, position = self._room(slot)
        _SEND.pack_into(segment, position, topic, partition, sequence, begin_ns, size_bytes, -1)
        segment[position + KIND_AT] = _KIND_SEND
        self._used = slot + 1
        return slot

    def begin_sends(self, topic: int, partitions: Integers, sequences: Integers, begin_ns: int, size_bytes: int) -> int:
        """`begin_send` of up to BEGUN_AT_ONCE_MAX at once; returns the slot of the first, the others follow it.

        When the next segment fails, those that fit stay begun.
        """
        if len(sequences) > BEGUN_AT_ONCE_MAX:
            raise HarnessError(f"{len(sequences)} records begun at once; a reader expects at most {BEGUN_AT_ONCE_MAX}")
        first, done = self._used, 0
        while done < len(sequences):
            position = self._used % self._per_segment
            records = self._records_from(position, len(sequences) - done)
            burst = slice(done, done + len(records))
            records["begin_ns"] = begin_ns  # the first: by it a reader knows what a killed worker was just beginning
            records["topic"], records["partition"], records["sequence"] = topic, partitions[burst], sequences[burst]
            records["b"], records["txn"] = size_bytes, -1
            records["kind"] = _KIND_SEND  # in the order of the records
            self._used += len(records)
            done += len(records)
        return first

    def complete(
        self, slot: int, outcome: Outcome, *, end_ns: int, offset: int = -1, a: int = -1, code: int = 0
    ) -> None:
        """Store how the operation of `slot` ended.

        Raises HarnessError when it was completed before, is of a kind that has no outcome, or was never begun.
        """
        if not 0 <= slot < self._used or not outcome:
            raise HarnessError(f"slot {slot} of {self._used} cannot be completed as {outcome.name}")
        index, at = divmod(slot, self._per_segment)
        segment, position = self._segments[index], at * RECORD_BYTES
        if segment[position + OUTCOME_AT] or segment[position + KIND_AT] in _INSTANT_KINDS:  # 0 is PENDING
            raise HarnessError(f"slot {slot} completed twice, or of a kind without outcome")
        _CODE.pack_into(segment, position + CODE_AT, code)
        _COMPLETION.pack_into(segment, position + COMPLETION_AT, end_ns, offset, a)
        segment[position + OUTCOME_AT] = outcome
        self._completed += 1

    def complete_sends(
        self,
        slots: Integers,
        outcomes: npt.NDArray[np.uint8],
        *,
        end_ns: int,
        offsets: Integers,
        latencies_ns: Integers,
        codes: Integers | None = None,
    ) -> None:
        """`complete` of several sends at once, all of them at `end_ns`. Raises HarnessError as it does."""
        ordered = np.sort(slots)
        if ordered[0] < 0 or ordered[-1] >= self._used or not outcomes.all():
            raise HarnessError(f"slots {ordered[0]} to {ordered[-1]} of {self._used} cannot be completed so")
        if (ordered[1:] == ordered[:-1]).any():
            raise HarnessError("a slot completed twice at once")
        first, last = int(ordered[0]) // self._per_segment, int(ordered[-1]) // self._per_segment
        for index in range(first, last + 1):
            here = slice(None) if first == last else slots // self._per_segment == index
            at, records = slots[here] - index * self._per_segment, self._records[index]
            if records["outcome"][at].any() or (records["kind"][at] != _KIND_SEND).any():
                raise HarnessError(f"one of {len(at)} slots completed twice, or no send")
            if codes is not None:
                records["code"][at] = codes[here]
            records["end_ns"][at] = end_ns
            records["offset"][at], records["a"][at] = offsets[here], latencies_ns[here]
            records["outcome"][at] = outcomes[here]
            self._completed += len(at)

    def close(self) -> None:
        """Say in the header how many records there are, and give back the space that was not used. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._ahead.shutdown(wait=True)
        replace(self._header, records=self._used).save(self._directory)
        last = len(self._segments) - 1
        # Unmapped with the last of their views, one of which a traceback may still hold.
        self._records.clear()
        self._segments.clear()
        if self._next is not None and self._next.exception() is None:
            self._next.result().close()
            segment_path(self._directory, last + 1).unlink()
        os.truncate(segment_path(self._directory, last), (self._used - last * self._per_segment) * RECORD_BYTES)

    def _room(self, slot: int) -> tuple[mmap.mmap, int]:
        """Where a new record goes. Waits only if the next segment is not there yet."""
        at = slot % self._per_segment
        self._prepare(at, 1)
        return self._segments[-1], at * RECORD_BYTES

    def _records_from(self, at: int, wanted: int) -> Records:
        """Where up to `wanted` new records go, as many as the segment holds. Waits as `_room` does."""
        count = min(wanted, self._per_segment - at)
        self._prepare(at, count)
        return self._records[-1][at : at + count]

    def _prepare(self, at: int, count: int) -> None:
        """Have a segment for records at this place, and ask for the next one when half of it is about to be used."""
        if at == 0 and self._used:
            self._roll()
        if at <= self._half < at + count:
            self._next = self._ahead.submit(_allocate, self._directory, len(self._segments), self._header.segment_bytes)

    def _roll(self) -> None:
        ahead, self._next = self._next, None
        if ahead is None:  # it failed before
            self._add(_allocate(self._directory, len(self._segments), self._header.segment_bytes))
        else:
            self._add(ahead.result())

    def _add(self, segment: mmap.mmap) -> None:
        self._segments.append(segment)
        self._records.append(np.frombuffer(segment, dtype=LAYOUT, count=self._per_segment))


def segment_path(directory: Path, index: int) -> Path:
    """The file of one segment."""
    return directory / f"{index:04d}.tape"


def _allocate(directory: Path, index: int, size_bytes: int) -> mmap.mmap:
    """A new segment, mapped. It gets its name only when its space is allocated: a named one is never short."""
    path = segment_path(directory, index)
    partial = path.with_suffix(".tape.new")
    fd = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        os.posix_fallocate(fd, 0, size_bytes)
        mapped = mmap.mmap(fd, size_bytes)
        partial.rename(path)
    except OSError as full:
        partial.unlink(missing_ok=True)
        raise EnvironmentFailure(
            f"{path}: no room for {size_bytes} bytes of tape: {full.strerror}", mend=f"df -h {directory}"
        ) from full
    finally:
        os.close(fd)
    return mapped
