"""Kafka's flexible encoding (KIP-482), read field by field: what has no schema in kio, as records of the metadata log.

In: bytes. Out: values. Pure.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping

from chaoskafka.cluster.wire.batches import Damaged

_ARRAY_MAX = 100_000  # entries: more partitions, or replicas, than any cluster has


class Reader:
    """Reads from front to end. Raises IndexError and struct.error at the end, Damaged for what cannot be meant."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(value)

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise Damaged("a varint is longer than 10 bytes")

    def raw(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            raise IndexError("a field reaches beyond its record")
        self._at += size
        return self._data[self._at - size : self._at]

    def uuid(self) -> uuid.UUID:
        return uuid.UUID(bytes=self.raw(16))

    def text(self) -> str:
        """A compact string; null reads as empty."""
        return self.raw(max(0, self.uvarint() - 1)).decode()

    def count(self) -> int:
        """Of a compact array; null reads as none."""
        count = max(0, self.uvarint() - 1)
        if count > _ARRAY_MAX:
            raise Damaged(f"an array claims {count} entries")
        return count

    def ints(self) -> tuple[int, ...]:
        return tuple(self.number(">i") for _ in range(self.count()))

    def tags(self) -> Mapping[int, Reader]:
        """All tagged fields (KIP-482), each with its own bytes."""
        return {self.uvarint(): Reader(self.raw(self.uvarint())) for _ in range(self.uvarint())}
