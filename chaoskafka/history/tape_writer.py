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

from chaoskafka.errors import EnvironmentFailure, HarnessError
from chaoskafka.history.tape import (
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
        self._segments = [_allocate(directory, 0, header.segment_bytes)]
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

    def close(self) -> None:
        """Say in the header how many records there are, and give back the space that was not used. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._ahead.shutdown(wait=True)
        replace(self._header, records=self._used).save(self._directory)
        for segment in self._segments:
            segment.close()
        if self._next is not None and self._next.exception() is None:
            self._next.result().close()
            segment_path(self._directory, len(self._segments)).unlink()
        last = len(self._segments) - 1
        os.truncate(segment_path(self._directory, last), (self._used - last * self._per_segment) * RECORD_BYTES)

    def _room(self, slot: int) -> tuple[mmap.mmap, int]:
        """Where a new record goes. Waits only if the next segment is not there yet."""
        at = slot % self._per_segment
        if at == 0 and slot:
            self._roll()
        elif at == self._half:
            self._next = self._ahead.submit(_allocate, self._directory, len(self._segments), self._header.segment_bytes)
        return self._segments[-1], at * RECORD_BYTES

    def _roll(self) -> None:
        index = len(self._segments)
        ahead, self._next = self._next, None
        if ahead is None:  # a segment of one record has no half
            self._segments.append(_allocate(self._directory, index, self._header.segment_bytes))
        else:
            self._segments.append(ahead.result())


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
