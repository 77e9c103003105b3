"""Clients in memory: they implement the worker's client protocols and answer as a test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chaoskafka.workloads.worker.client import (
    ClientError,
    ConsumerListener,
    Position,
    ProducerListener,
    Received,
    Refused,
)

Answer = tuple[int, int]  # code, offset


class StopAfter:
    """A Stop that is asked for at the `pauses`-th pause."""

    def __init__(self, pauses: int) -> None:
        self._left = pauses

    def pause(self, seconds: float) -> bool:
        self._left -= 1
        return self._left <= 0


@dataclass
class MemoryProducer:
    """Answers every message at the next poll with `fate(number of the call)`: an answer, None (never), or raises."""

    listener: ProducerListener
    fate: Callable[[int], Answer | None]
    sent: list[tuple[int, bytes]] = field(default_factory=list)
    calls: int = 0
    failures: list[ClientError] = field(default_factory=list)
    _due: list[tuple[int, int, Answer]] = field(default_factory=list)

    def send(self, partition: int, payload: bytes, slot: int) -> None:
        self.calls += 1
        answer = self.fate(self.calls - 1)
        self.sent.append((partition, payload))
        if answer is not None:
            self._due.append((slot, partition, answer))

    def poll(self) -> None:
        due, self._due = self._due, []
        for slot, partition, (code, offset) in due:
            self.listener.delivered(slot, partition, code, offset, 1000)
        while self.failures:
            self.listener.failed_with(self.failures.pop())

    def close(self) -> None:
        self.poll()


@dataclass
class MemoryConsumer:
    """Plays a script, one entry per poll: records, or something to do. Commits are answered at the next poll."""

    listener: ConsumerListener
    script: list[list[Received] | Callable[[], None]]
    fate: Callable[[int], int | None] = lambda _: 0
    on_commit: Callable[[Sequence[Position]], None] = lambda _: None
    commits: list[list[Position]] = field(default_factory=list)
    _due: list[tuple[list[Position], int]] = field(default_factory=list)

    def poll(self, within_s: float) -> list[Received]:
        due, self._due = self._due, []
        for positions, code in due:
            self.listener.committed((*position, code) for position in positions)
        entry = self.script.pop(0) if self.script else []
        if callable(entry):
            entry()
            return []
        return entry

    def commit(self, positions: Sequence[Position]) -> None:
        self.on_commit(positions)
        code = self.fate(len(self.commits))
        self.commits.append(list(positions))
        if code is not None:
            self._due.append((list(positions), code))

    def close(self) -> None:
        self.poll(0)


def refuse(code: int) -> Answer:
    """For a fate: the call itself fails."""
    raise Refused(code, "refused by the test")
