"""The fake cluster's metadata log: what its control decides, as records in Kafka's own format.

In: decisions, as they fall. Out: batches for whoever fetches them. All is committed at once, as nothing is replicated.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping, Sequence
from typing import Protocol

from chaoskafka.runtimes.fake.log import PartitionLog, Sender

_LEADER_CHANGE_KEY = struct.pack(">hh", 0, 2)


class MetadataLog:
    """Records are collected by `note`, and stored as one batch by `flush`."""

    def __init__(self) -> None:
        self._log = PartitionLog()
        self._pending: list[bytes] = []
        self._topics: set[uuid.UUID] = set()
        self.epoch = 0  # of the quorum's leader
        self.stored_ns = 0  # when the last batch was

    @property
    def end(self) -> int:
        return self._log.end

    def fetch(self, offset: int, bytes_max: int) -> bytes:
        return self._log.fetch(offset, bytes_max)

    def lead(self, controller: int, now_ns: int) -> None:
        """A controller becomes the active one, in a new epoch."""
        self.epoch += 1
        value = struct.pack(">hi", 0, controller) + b"\x01\x01\x00"  # no voters named, no tags
        self._log.append_marker(_LEADER_CHANGE_KEY, value, self.epoch)
        self.stored_ns = now_ns

    def flush(self, now_ns: int) -> None:
        """Store what was noted since the last time."""
        if self._pending:
            self._log.append(self._pending, Sender(), self.epoch)
            self._pending, self.stored_ns = [], now_ns

    def idle(self) -> None:
        """Nothing happened."""
        self._note(20)

    def register(self, broker: int, broker_epoch: int) -> None:
        """A new process, fenced until it has caught up."""
        named = struct.pack(">i", broker) + bytes(16) + struct.pack(">q", broker_epoch)
        self._note(0, named + b"\x01\x01\x00\x01\x00\x00")  # no listeners, features or rack; fenced, not stopping

    def change(self, broker: int, *, fenced: bool | None = None, stopping: bool = False) -> None:
        """A registration changes."""
        tags = {} if fenced is None else {0: struct.pack(">b", 1 if fenced else -1)}
        tags |= {1: b"\x01"} if stopping else {}
        self._note(17, struct.pack(">iq", broker, 0), tags, version=1)

    def place(self, topic: str, number: int, place: Placed) -> None:
        """A partition is made; its topic before the first one."""
        if place.topic_id not in self._topics:
            self._topics.add(place.topic_id)
            self._note(2, bytes([len(topic) + 1]) + topic.encode() + place.topic_id.bytes)
        who = struct.pack(">i", number) + place.topic_id.bytes + _ints(place.replicas) + _ints(place.isr)
        self._note(3, who + b"\x01\x01" + struct.pack(">iii", place.leader, place.epoch, 0))

    def move(self, number: int, place: Placed, *, leader: bool = False, replicas: bool = False) -> None:
        """A partition's in-sync set is written again, with its leader or its replicas if those have changed."""
        tags = {0: _ints(place.isr)}
        tags |= {1: struct.pack(">i", place.leader)} if leader else {}
        tags |= {2: _ints(place.replicas)} if replicas else {}
        self._note(5, struct.pack(">i", number) + place.topic_id.bytes, tags)

    def _note(self, kind: int, body: bytes = b"", tags: Mapping[int, bytes] | None = None, version: int = 0) -> None:
        tagged = b"".join(bytes([tag, len(value)]) + value for tag, value in (tags or {}).items())
        self._pending.append(bytes([1, kind, version]) + body + bytes([len(tags or {})]) + tagged)


class Placed(Protocol):
    """A partition, as far as the log tells of it."""

    @property
    def topic_id(self) -> uuid.UUID: ...
    @property
    def replicas(self) -> tuple[int, ...]: ...
    @property
    def isr(self) -> tuple[int, ...]: ...
    @property
    def leader(self) -> int: ...
    @property
    def epoch(self) -> int: ...


def _ints(numbers: Sequence[int]) -> bytes:
    return bytes([len(numbers) + 1]) + b"".join(struct.pack(">i", number) for number in numbers)
