"""Writes record batches, independently of the parser under test: straight from Kafka's description of the format."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence

import crc32c


def varint(number: int) -> bytes:
    zigzag = (number << 1) ^ (number >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(0x80 | (zigzag & 0x7F))
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


def field(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    offset_delta: int, value: bytes | None, *, time_delta: int = 0, key: bytes | None = None, headers: int = 0
) -> bytes:
    body = b"\x00" + varint(time_delta) + varint(offset_delta) + field(key) + field(value) + varint(headers)
    body += (field(b"h") + field(None)) * headers
    return varint(len(body)) + body


def batch(
    base_offset: int,
    records: Sequence[bytes],
    *,
    epoch: int = 0,
    attributes: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    times: tuple[int, int] = (1000, 2000),
    last_delta: int | None = None,
) -> bytes:
    """`producer`: id, epoch, base sequence; `times`: of the first record, and the highest."""
    body = b"".join(records)
    if attributes & 7 == 1:
        body = gzip.compress(body)
    last = len(records) - 1 if last_delta is None else last_delta
    covered = struct.pack(">hiqqqhii", attributes, last, *times, *producer, len(records)) + body
    rest = struct.pack(">ibI", epoch, 2, crc32c.crc32c(covered)) + covered
    return struct.pack(">qi", base_offset, len(rest)) + rest


def marker(base_offset: int, kind: int, *, producer: tuple[int, int, int] = (7, 0, -1)) -> bytes:
    """A control batch: 0 abort, 1 commit."""
    return batch(
        base_offset,
        [record(0, b"\x00\x00\x00\x00\x00\x00", key=struct.pack(">hh", 0, kind))],
        attributes=0x30,
        producer=producer,
    )
