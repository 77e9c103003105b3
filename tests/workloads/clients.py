"""Clients in memory: they implement the worker's client protocols and answer as a test says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chaoskafka.workloads.worker.client import (
    ClientError,
    ConsumerListener,
    Deliveries,
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


class PauseReally:
    """A Stop that is never asked for, and waits."""

    def pause(self, seconds: float) -> bool:
        threading.Event().wait(seconds)
        return False


@dataclass
class MemoryProducer:
    """Answers every message at the next poll with `fate(number of the call)`: an answer, None (never), or raises."""

    listener: ProducerListener
    fate: Callable[[int], Answer | None]
    sent: list[tuple[int, bytes]] = field(default_factory=list)
    calls: int = 0
    failures: list[ClientError] = field(default_factory=list)
    _due: list[tuple[bytes, Answer]] = field(default_factory=list)

    def send(self, partition: int, payloads: Sequence[bytes]) -> Sequence[tuple[int, int]]:
        refused = []
        for place, payload in enumerate(payloads):
            self.calls += 1
            try:
                answer = self.fate(self.calls - 1)
            except Refused as why:
                refused.append((place, why.code))
                answer = None
            self.sent.append((partition, payload))
            if answer is not None:
                self._due.append((payload, answer))
        return refused

    def poll(self) -> None:
        due, self._due = self._due, []
        if due:
            codes, offsets = zip(*(answer for _, answer in due), strict=True)
            self.listener.delivered(Deliveries([payload for payload, _ in due], codes, offsets, [1000] * len(due)))
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
