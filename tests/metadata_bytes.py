"""Writes records of the metadata log, independently of the reader under test: straight from Kafka's message schemas."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping, Sequence

from batch_bytes import batch, record


def uvarint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(0x80 | (number & 0x7F))
        number >>= 7
    out.append(number)
    return bytes(out)


def ints(*numbers: int) -> bytes:
    return uvarint(len(numbers) + 1) + b"".join(struct.pack(">i", number) for number in numbers)


def text(value: str) -> bytes:
    return uvarint(len(value) + 1) + value.encode()


def tags(fields: Mapping[int, bytes]) -> bytes:
    found = uvarint(len(fields))
    for tag, value in sorted(fields.items()):
        found += uvarint(tag) + uvarint(len(value)) + value
    return found


def framed(kind: int, version: int, body: bytes, tagged: Mapping[int, bytes] | None = None) -> bytes:
    return uvarint(1) + uvarint(kind) + uvarint(version) + body + tags(tagged or {})


def topic(name: str, topic_id: uuid.UUID) -> bytes:
    return framed(2, 0, text(name) + topic_id.bytes)


def partition(
    topic_id: uuid.UUID,
    number: int,
    replicas: Sequence[int],
    *,
    leader: int,
    epoch: int = 0,
    version: int = 2,
    elr: Sequence[int] = (),
) -> bytes:
    body = struct.pack(">i", number) + topic_id.bytes + ints(*replicas) + ints(*replicas) + ints() + ints()
    body += struct.pack(">iii", leader, epoch, 0)
    if version >= 1:
        body += uvarint(len(replicas) + 1) + bytes(16 * len(replicas))
    return framed(3, version, body, {1: ints(*elr)} if elr else {})


def partition_change(
    topic_id: uuid.UUID, number: int, *, leader: int | None = None, isr: Sequence[int] | None = None, **more: bytes
) -> bytes:
    """`more`: other tagged fields, as t5=…"""
    fields = {int(name[1:]): value for name, value in more.items()}
    fields |= {} if isr is None else {0: ints(*isr)}
    fields |= {} if leader is None else {1: struct.pack(">i", leader)}
    return framed(5, 2, struct.pack(">i", number) + topic_id.bytes, fields)


def register(broker: int, epoch: int, *, version: int, fenced: bool = True) -> bytes:
    """As Kafka 4.0 (version 3) and 4.4 (version 4) write it, with two listeners and a feature."""
    body = struct.pack(">i", broker) + (b"\x00" if version >= 2 else b"") + bytes(range(16)) + struct.pack(">q", epoch)
    listeners = [text(name) + text(f"node-{broker}") + struct.pack(">Hh", 9092, 0) + tags({}) for name in ("A", "B")]
    body += uvarint(len(listeners) + 1) + b"".join(listeners)
    body += uvarint(2) + text("metadata.version") + struct.pack(">hh", 1, 25) + tags({})
    body += b"\x00" + bytes([fenced, 0])
    tagged = {0: uvarint(2) + bytes(16)} | ({1: b"\x00"} if version >= 4 else {})
    return framed(0, version, body, tagged)


def broker_change(broker: int, epoch: int, tagged: Mapping[int, bytes], *, version: int = 2) -> bytes:
    return framed(17, version, struct.pack(">iq", broker, epoch), tagged)


FENCED, UNFENCED, STOPPING = {0: b"\x01"}, {0: b"\xff"}, {1: b"\x01"}
NO_OP = framed(20, 0, b"")


def log_batch(base_offset: int, *values: bytes, epoch: int = 1, stamped_ms: int = 1000) -> bytes:
    rows = [record(at, value) for at, value in enumerate(values)]
    return batch(base_offset, rows, epoch=epoch, times=(stamped_ms, stamped_ms))


def leader_change(base_offset: int, controller: int, *, epoch: int, stamped_ms: int = 1000) -> bytes:
    """The control batch that each leader of the quorum begins with."""
    value = struct.pack(">hi", 0, controller) + b"\x01\x01\x00"
    row = record(0, value, key=struct.pack(">hh", 0, 2))
    return batch(base_offset, [row], epoch=epoch, attributes=0x20, times=(stamped_ms, stamped_ms))
