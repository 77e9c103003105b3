"""Message identity: the head of every payload we produce, by which a message is recognised as ours, whole and in place.

Layout, little-endian, 44 bytes, then filler up to `size_bytes`:
magic 4s | crc32 u32 of all that follows | size u32 | run u64 | producer u16 | incarnation u16 | topic index u32 |
partition i32 | sequence i64 | reserved u32
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b

HEAD = struct.Struct("<4sIIQHHIiqI")
HEAD_BYTES = HEAD.size
MAGIC = b"CKM1"
_AFTER_CRC = 8
_SUMMED, _COMMON, _OWN = struct.Struct("<4sI"), struct.Struct("<IQHHI"), struct.Struct("<iqI")  # HEAD in three parts
_BYTES = [bytes([value]) for value in range(256)]


class PayloadState(IntEnum):
    """What a payload found in a log or given to a consumer turned out to be."""

    OURS = 0  # of this run, whole; whether it is in the right place is for the checks, by topic and partition
    FOREIGN = 1  # without our magic: another application's record
    TORN = 2  # our magic, but size or checksum wrong
    OTHER_RUN = 3  # whole, but of another run


@dataclass(frozen=True, slots=True)
class Identity:
    """Who sent a message, where to, and its place in that sequence.

    `sequence` counts from 0 without a hole within (producer, incarnation, topic, partition).
    """

    producer: int
    incarnation: int
    topic: int
    partition: int
    sequence: int


NOBODY = Identity(producer=0, incarnation=0, topic=0, partition=-1, sequence=-1)


def run_number(run_id: str) -> int:
    """The 64-bit number that stands for a run id in payloads."""
    return int.from_bytes(blake2b(run_id.encode(), digest_size=8).digest(), "little")


class Encoder:
    """Payloads of one producer for one topic. What they all have in common is made and summed up once."""

    def __init__(self, run: int, *, producer: int, incarnation: int, topic: int, size_bytes: int) -> None:
        if size_bytes < HEAD_BYTES:
            raise ValueError(f"size_bytes {size_bytes} is below the {HEAD_BYTES} bytes of the head")
        self._common = _COMMON.pack(size_bytes, run, producer, incarnation, topic)
        self._common_crc = zlib.crc32(self._common)
        self._filler_bytes = size_bytes - HEAD_BYTES

    def encode(self, partition: int, sequence: int) -> bytes:
        """A payload of exactly `size_bytes`, filled with bytes that depend on the sequence."""
        own = _OWN.pack(partition, sequence, 0) + _BYTES[sequence & 0xFF] * self._filler_bytes
        return _SUMMED.pack(MAGIC, zlib.crc32(own, self._common_crc)) + self._common + own


def encode(run: int, identity: Identity, size_bytes: int) -> bytes:
    """One payload of exactly `size_bytes`, at least HEAD_BYTES."""
    encoder = Encoder(
        run,
        producer=identity.producer,
        incarnation=identity.incarnation,
        topic=identity.topic,
        size_bytes=size_bytes,
    )
    return encoder.encode(identity.partition, identity.sequence)


def place_of(payload: bytes) -> tuple[int, int]:
    """Partition and sequence of a payload that is known to be ours and whole."""
    partition, sequence, _ = _OWN.unpack_from(payload, _SUMMED.size + _COMMON.size)
    return partition, sequence


def decode(run: int, payload: bytes | None) -> tuple[PayloadState, Identity]:
    """What a payload is, and whose; the identity is NOBODY unless the payload is whole."""
    if payload is None or len(payload) < HEAD_BYTES or payload[:4] != MAGIC:
        torn = payload is not None and payload[:4] == MAGIC
        return (PayloadState.TORN if torn else PayloadState.FOREIGN), NOBODY
    _, crc, size, its_run, producer, incarnation, topic, partition, sequence, _ = HEAD.unpack_from(payload)
    if size != len(payload) or zlib.crc32(payload[_AFTER_CRC:]) != crc:
        return PayloadState.TORN, NOBODY
    state = PayloadState.OURS if its_run == run else PayloadState.OTHER_RUN
    return state, Identity(producer, incarnation, topic, partition, sequence)
