"""Payloads of many messages at once: the same bytes as `identity.Encoder` makes one by one, in a fifth of the time.

In: partitions and sequences. Out: payloads; and back from payloads to partitions and sequences.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from chaoskafka.history.identity import HEAD_BYTES, Encoder
from chaoskafka.history.tape_layout import Integers

_PARTITION_AT, _SEQUENCE_AT, _FILLER_AT = 0, 4, 16  # within what is summed up after the part common to all messages
_VARYING_BYTES = 12  # partition and sequence: what differs between messages, besides the filler
_COMMON_AT = 8  # in a payload: behind magic and checksum


class BurstEncoder:
    """Payloads of one producer for one topic, for up to `most` messages at once.

    A CRC of bytes of one length is linear: that of a message is the one of zeros, changed by what each set bit adds.
    So it is looked up byte by byte, for all messages at once. The filler repeats the sequence's lowest byte, and is
    part of what that byte adds.
    """

    def __init__(self, run: int, *, producer: int, incarnation: int, topic: int, size_bytes: int, most: int) -> None:
        encoder = Encoder(run, producer=producer, incarnation=incarnation, topic=topic, size_bytes=size_bytes)
        zeros = encoder.encode(0, 0)
        self._crc_of_zeros, self._tables = _tables(zeros)
        filler_bytes = size_bytes - HEAD_BYTES
        self._layout = np.dtype(
            [
                ("magic", "S4"), ("crc", "<u4"), ("common", "u1", (20,)), ("partition", "<i4"), ("sequence", "<i8"),
                ("reserved", "<u4"), ("filler", "u1", (filler_bytes,)),
            ]
        )  # fmt: skip
        self._rows = np.frombuffer(bytearray(zeros * most), dtype=self._layout)  # what is common stays as it is
        self._payload = np.dtype((np.void, size_bytes))

    def encode(self, partitions: Integers, sequences: Integers) -> list[bytes]:
        """One payload for each; none of the numbers is negative."""
        rows = self._rows[: len(sequences)]
        rows["partition"], rows["sequence"] = partitions, sequences
        rows["filler"] = (sequences & 0xFF).astype(np.uint8)[:, np.newaxis]
        crc = np.full(len(sequences), self._crc_of_zeros)
        for first, numbers in ((_PARTITION_AT, partitions), (_SEQUENCE_AT, sequences)):
            for byte in range((int(numbers.max()).bit_length() + 7) // 8):  # the rest are zeros
                crc ^= self._tables[first + byte].take(numbers >> 8 * byte & 0xFF)
        rows["crc"] = crc
        payloads: list[bytes] = rows.view(self._payload).tolist()
        return payloads

    def places(self, payloads: Sequence[bytes]) -> tuple[Integers, Integers]:
        """The partition and sequence that each of our own payloads carries. Nothing is checked."""
        rows = np.frombuffer(b"".join(payloads), dtype=self._layout)
        return rows["partition"].astype(np.int64), rows["sequence"]


def _tables(zeros: bytes) -> tuple[np.uint32, np.ndarray[tuple[int, ...], np.dtype[np.uint32]]]:
    """The CRC of the message of zeros, and what each value of each byte that varies adds to it."""
    common_crc = zlib.crc32(zeros[_COMMON_AT : HEAD_BYTES - _FILLER_AT])
    own = bytearray(zeros[HEAD_BYTES - _FILLER_AT :])
    crc_of_zeros = zlib.crc32(own, common_crc)
    bits = np.zeros((_VARYING_BYTES, 1, 8), dtype=np.uint32)
    for byte in range(_VARYING_BYTES):
        for bit in range(8):
            changed = own.copy()
            changed[byte] = 1 << bit
            if byte == _SEQUENCE_AT:
                changed[_FILLER_AT:] = bytes([1 << bit]) * (len(own) - _FILLER_AT)
            bits[byte, 0, bit] = zlib.crc32(changed, common_crc) ^ crc_of_zeros
    is_set = (np.arange(256)[:, np.newaxis] >> np.arange(8) & 1).astype(np.uint32)
    return np.uint32(crc_of_zeros), np.bitwise_xor.reduce(bits * is_set, axis=2)
