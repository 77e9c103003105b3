"""Reads one partition from its log start to a known end, batch by batch, from its leader.

In: the brokers and an `Ending`. Out: the partition's tables, how far it was read, and why not further. Raw FETCH,
read_uncommitted: the judge must not share the judged client's bugs, and must see control batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Self

from chaoskafka.audit.columns import PartitionTables
from chaoskafka.audit.settle import Ending
from chaoskafka.clock import Clock, Deadline
from chaoskafka.cluster import sights
from chaoskafka.cluster.sights import Partition
from chaoskafka.cluster.views import Views, parse_uuid
from chaoskafka.cluster.wire import asks
from chaoskafka.cluster.wire.batches import Damaged, Unreadable, control_type, records, split
from chaoskafka.cluster.wire.connection import Connection
from chaoskafka.errors import NoAnswer

FETCH_BYTES_MAX = 4 * 1024 * 1024  # a second's worth of parsing; a broker sends a larger first batch all the same
TRIES_MAX = 10  # fetches in a row that bring nothing, before a partition is given up
PAUSE_S = 0.2  # between them: a leader change takes a few of these


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One partition as it was read. `problem` None: read up to the end that was asked for."""

    tables: PartitionTables
    read_to: int
    problem: str | None


class _Stopped(Exception):
    """Reading cannot go on, whoever leads."""


class PartitionReader:
    """Reads one partition, and follows it to another leader when it moves. A context manager."""

    def __init__(self, views: Views, partition: Partition, ending: Ending, clock: Clock) -> None:
        self._views = views
        self._partition = partition
        self._ending = ending
        self._leader, self._epoch = ending.leader, ending.leader_epoch
        self._clock = clock
        self._at = ending.log_start  # everything below it has been kept
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._drop()

    def read(self, run: int, deadline: Deadline) -> Reading:
        """Everything from the log start to the end. Blocks until then, until the deadline, or until it is hopeless."""
        found = PartitionTables(run)
        tries, problem = 0, None
        while self._at < self._ending.end:
            if deadline.left_s(self._clock) <= 0:
                problem = problem or "time was up"
                break
            before = self._at
            try:
                self._add(found, self._fetch())
            except NoAnswer as silence:
                problem = str(silence)
            except (Damaged, Unreadable, _Stopped) as hopeless:
                problem = str(hopeless)
                break
            if self._at > before:
                tries, problem = 0, None
                continue
            tries += 1
            if tries >= TRIES_MAX:
                problem = problem or f"no data at offset {self._at}"
                break
            self._clock.pause(PAUSE_S)
            self._follow()
        return Reading(tables=found, read_to=self._at, problem=problem)

    def _add(self, found: PartitionTables, data: bytes) -> None:
        """Keep the batches that come next, up to the end.

        A batch is kept whole or not at all: it is parsed to its end before anything of it is added.
        """
        for batch in split(data):
            if batch.last_offset < self._at:
                continue
            if batch.base_offset >= self._ending.end:
                break
            parsed = [] if batch.control else list(records(batch))
            found.add_batch(batch, control_type(batch))
            for offset, time_ms, _, value in parsed:
                if offset >= self._ending.log_start:  # a log may start inside a batch (DeleteRecords)
                    found.add_record(batch.base_offset, offset, time_ms, value)
            self._at = batch.last_offset + 1

    def _fetch(self) -> bytes:
        """The next piece of log. Raises NoAnswer when it may work later, _Stopped when it never will."""
        if self._connection is None:
            if self._leader not in self._views.addresses:
                raise NoAnswer(f"no leader to read from (leader {self._leader})")
            self._connection = self._views.connect(self._leader)
        place = asks.FetchFrom(
            topic_id=parse_uuid(self._ending.topic_id),
            partition=self._partition[1],
            leader_epoch=self._epoch,
            offset=self._at,
            bytes_max=FETCH_BYTES_MAX,
            wait_ms=200,
        )
        answer = self._connection.ask(asks.fetch(place))
        if answer.error_code:
            raise NoAnswer(f"broker {self._leader}: FETCH: {answer.error_code.name}")
        for topic in answer.responses:
            for part in topic.partitions:
                if part.error_code and not part.error_code.retriable:
                    raise _Stopped(f"broker {self._leader} at offset {self._at}: {part.error_code.name}")
                if part.error_code:
                    raise NoAnswer(f"broker {self._leader} at offset {self._at}: {part.error_code.name}")
                return bytes(part.records or b"")
        raise NoAnswer(f"broker {self._leader}: FETCH answered nothing")

    def _follow(self) -> None:
        """Look up who leads now, and connect afresh next time."""
        self._drop()
        seen = sights.leadership(self._views.ask_all([self._partition[0]])).get(self._partition)
        if seen is not None:
            self._leader, self._epoch = seen.leader, seen.leader_epoch

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
