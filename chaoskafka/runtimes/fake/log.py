"""One partition's log: record batches in the order of their offsets, as bytes for whoever fetches them.

In: messages of one producer at a time. Out: batches of format v2 (magic 2), and records for consumers. Offsets may have
holes, as after compaction; nothing is ever compressed.
"""

from __future__ import annotations

import struct
import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import crc32c

_COVERED = struct.Struct(">hiqqqhii")  # attributes, last delta, two timestamps, producer, epoch, sequence, count
_AFTER_LENGTH = struct.Struct(">ibI")  # leader epoch, magic, crc
_BEFORE_LENGTH = struct.Struct(">qi")
_CONTROL = 0x20

Stored = tuple[int, int, bytes]  # offset, leader epoch, payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Under whose name a batch is stored. All -1: a producer without idempotence."""

    producer_id: int = -1
    epoch: int = -1
    base_sequence: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One stored batch. `records`: offset and payload each, ascending; `next_offset`: first one behind it."""

    base_offset: int
    next_offset: int
    leader_epoch: int
    sender: Sender
    stamped_ms: int
    records: tuple[tuple[int, bytes], ...]
    marker: bytes | None = None  # the key of a control batch's one record

    def encoded(self) -> bytes:
        """As it lies in Kafka's log."""
        body = b"".join(_record(offset - self.base_offset, payload, self.marker) for offset, payload in self.records)
        covered = (
            _COVERED.pack(
                0 if self.marker is None else _CONTROL, self.next_offset - 1 - self.base_offset,
                self.stamped_ms, self.stamped_ms,
                self.sender.producer_id, self.sender.epoch, self.sender.base_sequence, len(self.records),
            )
            + body
        )  # fmt: skip
        rest = _AFTER_LENGTH.pack(self.leader_epoch, 2, crc32c.crc32c(covered)) + covered
        return _BEFORE_LENGTH.pack(self.base_offset, len(rest)) + rest


class PartitionLog:
    """Append and read; not for several threads at once."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self.end = 0  # the next offset; high watermark and log end are one, since nothing is replicated

    def append(self, payloads: Sequence[bytes | None], sender: Sender, leader_epoch: int) -> int:
        """Store one batch; None leaves a hole. Returns its base offset."""
        base = self.end
        kept = tuple((base + i, payload) for i, payload in enumerate(payloads) if payload is not None)
        self.end = base + len(payloads)
        if kept:
            self._batches.append(
                Batch(
                    base_offset=base,
                    next_offset=self.end,
                    leader_epoch=leader_epoch,
                    sender=sender,
                    stamped_ms=time.time_ns() // 1_000_000,
                    records=kept,
                )
            )
        return base

    def append_marker(self, key: bytes, value: bytes, leader_epoch: int) -> None:
        """Store a control batch of one record."""
        self._batches.append(
            Batch(
                base_offset=self.end,
                next_offset=self.end + 1,
                leader_epoch=leader_epoch,
                sender=Sender(),
                stamped_ms=time.time_ns() // 1_000_000,
                records=((self.end, value),),
                marker=key,
            )
        )
        self.end += 1

    def drop_last(self) -> None:
        """Cut the newest message off, as a follower with a shorter log does that becomes leader."""
        last = self._batches.pop()
        self.end = last.records[-1][0]
        if last.records[:-1]:
            self._batches.append(
                Batch(
                    base_offset=last.base_offset,
                    next_offset=self.end,
                    leader_epoch=last.leader_epoch,
                    sender=last.sender,
                    stamped_ms=last.stamped_ms,
                    records=last.records[:-1],
                )
            )

    def read(self, offset: int, count_max: int) -> list[Stored]:
        """At most so many records, from `offset` on."""
        found: list[Stored] = []
        for batch in self._from(offset):
            found += [(at, batch.leader_epoch, payload) for at, payload in batch.records if at >= offset]
            if len(found) >= count_max:
                break
        return found[:count_max]

    def fetch(self, offset: int, bytes_max: int) -> bytes:
        """Whole batches from the one that holds `offset` on; the first one however large it is."""
        found = bytearray()
        for batch in self._from(offset):
            encoded = batch.encoded()
            if found and len(found) + len(encoded) > bytes_max:
                break
            found += encoded
        return bytes(found)

    def _from(self, offset: int) -> list[Batch]:
        first = bisect_right(self._batches, offset, key=lambda batch: batch.next_offset)
        return self._batches[first:]


def _record(offset_delta: int, payload: bytes, key: bytes | None) -> bytes:
    """Attributes 0, time delta 0, no headers."""
    keyed = _varint(-1) if key is None else _varint(len(key)) + key
    body = b"\x00\x00" + _varint(offset_delta) + keyed + _varint(len(payload)) + payload + b"\x00"
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    zigzag = (number << 1) ^ (number >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(0x80 | (zigzag & 0x7F))
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)
