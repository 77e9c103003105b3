"""Record batches as they lie in the log: bytes in, headers and records out. Pure.

Format v2 (magic 2), https://kafka.apache.org/documentation/#recordbatch: a header of 61 bytes, then records of zigzag
varints. Our own parser, since the judge needs each batch's producer id, epoch, sequence and leader epoch, and control
batches too, and checks every CRC; kio's truncates times to seconds.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import crc32c

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size
_LENGTH_FROM = 12  # the length field counts from here: base offset and length itself come before
_CRC_FROM = 21  # the checksum covers everything from the attributes on
_MAGIC_AT = 16
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_CODEC, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_GZIP = 16 + zlib.MAX_WBITS
RECORDS_BYTES_MAX = 256 * 1024 * 1024  # a batch is at most message.max.bytes; even packed a thousandfold it stays below
_CONTROL_KEY = struct.Struct(">hh")

Record = tuple[int, int, bytes | None, bytes | None]  # offset, timestamp in ms, key, value


class Damaged(ValueError):
    """Bytes that are no whole, uncorrupted record batch; says where and why."""


class Unreadable(ValueError):
    """A sound batch that we cannot read: an old format, or a compression that we do not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One record batch; `body` is what follows the header, still compressed."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int
    body: bytes

    @property
    def transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def control(self) -> bool:
        """A batch of markers, not of messages."""
        return bool(self.attributes & _CONTROL)

    @property
    def codec(self) -> str:
        """How the records are compressed."""
        number = self.attributes & _CODEC
        return _CODECS[number] if number < len(_CODECS) else f"codec {number}"


def split(data: bytes) -> Iterator[Batch]:
    """The batches in a fetched piece of log. A last batch that the broker cut off is left out.

    Raises Damaged (wrong CRC, impossible length) and Unreadable (not format v2).
    """
    at = 0
    while len(data) - at >= HEADER_BYTES:
        base, length, epoch, magic, crc, attributes, last_delta, *rest = HEADER.unpack_from(data, at)
        if data[at + _MAGIC_AT] != 2:
            raise Unreadable(f"batch at offset {base} has format {magic}, not 2")
        end = at + _LENGTH_FROM + length
        if end - at < HEADER_BYTES:
            raise Damaged(f"batch at offset {base} claims a length of {length} bytes")
        if end > len(data):
            return
        if crc32c.crc32c(memoryview(data)[at + _CRC_FROM : end]) != crc:
            raise Damaged(f"batch at offset {base} has a wrong CRC")
        first_ms, max_ms, producer_id, producer_epoch, base_sequence, count = rest
        yield Batch(
            base_offset=base,
            last_offset=base + last_delta,
            leader_epoch=epoch,
            attributes=attributes,
            base_timestamp_ms=first_ms,
            max_timestamp_ms=max_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            count=count,
            body=data[at + HEADER_BYTES : end],
        )
        at = end


def records(batch: Batch) -> Iterator[Record]:
    """The records of a batch, in order.

    Raises Damaged (a length does not add up, bytes are left over) and Unreadable (compression).
    """
    data = _plain(batch)
    append_time = batch.attributes & _APPEND_TIME
    at = 0
    try:
        for _ in range(batch.count):
            length, at = _varint(data, at)
            end = at + length
            time_delta, at = _varint(data, at + 1)  # + 1: the record's attributes, unused so far
            offset_delta, at = _varint(data, at)
            key, at = _field(data, at, end)
            value, at = _field(data, at, end)
            if at != end:  # headers; our producers write none, so they are passed over but must add up
                at = _past_headers(data, at, end)
            if at != end or end > len(data):
                raise Damaged(f"a record of batch {batch.base_offset} does not end where it should")
            time_ms = batch.max_timestamp_ms if append_time else batch.base_timestamp_ms + time_delta
            yield batch.base_offset + offset_delta, time_ms, key, value
    except IndexError:
        raise Damaged(f"batch {batch.base_offset} ends inside a record") from None
    if at != len(data):
        raise Damaged(f"batch {batch.base_offset}: {len(data) - at} bytes left unread after {batch.count} records")


def control_type(batch: Batch) -> int | None:
    """Of a control batch, which marker: 0 abort, 1 commit (KIP-98), others as Kafka numbers them; None for data.

    Raises Damaged when it holds no marker.
    """
    if not batch.control:
        return None
    for _, _, key, _ in records(batch):
        if key is not None and len(key) >= _CONTROL_KEY.size:
            return int(_CONTROL_KEY.unpack_from(key)[1])
    raise Damaged(f"control batch {batch.base_offset} holds no marker")


def _plain(batch: Batch) -> bytes:
    if batch.codec == "none":
        return batch.body
    if batch.codec != "gzip":
        raise Unreadable(f"batch {batch.base_offset} is compressed with {batch.codec}")
    inflater = zlib.decompressobj(_GZIP)
    try:
        plain = inflater.decompress(batch.body, RECORDS_BYTES_MAX)
    except zlib.error as broken:
        raise Damaged(f"batch {batch.base_offset}: gzip: {broken}") from broken
    if not inflater.eof:
        raise Damaged(f"batch {batch.base_offset}: gzip stream not at its end after {len(plain)} bytes")
    return plain


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint, and where it ends. Raises IndexError at the end of the data, Damaged when it is too long."""
    byte = data[at]
    at += 1
    value, shift = byte & 0x7F, 7
    while byte > 0x7F:
        if shift > 63:
            raise Damaged("a varint is longer than 10 bytes")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), at


def _field(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    """A length and so many bytes; -1: null."""
    length, at = _varint(data, at)
    if length < 0:
        return None, at
    if at + length > end:
        raise Damaged(f"a field of {length} bytes reaches beyond its record")
    return data[at : at + length], at + length


def _past_headers(data: bytes, at: int, end: int) -> int:
    count, at = _varint(data, at)
    for _ in range(count):
        _, at = _field(data, at, end)
        _, at = _field(data, at, end)
    return at
