"""The consumer's loop: every poll, record, assignment and commit on the tape; a commit only of what is on it already.

In: arguments, a client, a tape. Out: the tape, status lines, the closing report.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TextIO

from chaoskafka.clock import Deadline
from chaoskafka.history.identity import decode, run_number
from chaoskafka.history.tape import Change, Kind, Outcome
from chaoskafka.history.tape_writer import TapeWriter
from chaoskafka.workloads.worker.arguments import WorkerArguments
from chaoskafka.workloads.worker.client import ClientError, ConsumerClient, Received, Refused
from chaoskafka.workloads.worker.report import ClosingReport, StatusLine
from chaoskafka.workloads.worker.stopping import Stop

POLL_S = 0.1  # waits at most so long for a record: how late a stop is noticed
ANSWER_S = 30.0  # an unanswered commit does not hold up the next one for longer

Place = tuple[str, int]


class ConsumeLoop:
    """One member of a consumer group, and its client's listener. All of it runs on one thread."""

    def __init__(
        self, arguments: WorkerArguments, tape: TapeWriter, report: ClosingReport, out: TextIO | None = None
    ) -> None:
        self._arguments, self._tape, self._report = arguments, tape, report
        self._run = run_number(arguments.run_id)
        self._topics = {name: index for index, name in enumerate(arguments.topics)}
        self._ordinals = dict.fromkeys(Kind, 0)
        self._position: dict[Place, int] = {}  # next offset, of what is assigned and was read
        self._committed: dict[Place, int] = {}  # last acknowledged commit, of the same
        self._asked: dict[tuple[str, int, int], list[int]] = {}  # slots of unanswered commits
        self._furthest: dict[Place, int] = {}  # next offset after the furthest record ever read
        self._last_read_ns: dict[Place, int] = {}
        self._assigned: set[Place] = set()
        self._client: ConsumerClient | None = None
        self._read = 0
        self._code = 0  # of the newest error, for the poll that it came in
        self._failed = False
        self._refusal: str | None = None
        self._status = StatusLine(out)

    def run(self, client: ConsumerClient, stop: Stop) -> bool:
        """Read until asked to stop, or until the client fails fatally; then commit what was read. Blocks.

        True always: what was not answered within `drain_s` is told by the tape.
        """
        self._client = client
        limit, commit_every_s = Deadline.after(self._arguments.limit_s), self._arguments.commit_every_s
        due = Deadline.after(commit_every_s)
        answer = Deadline.after(0)
        while not self._failed and limit.left_s() > 0 and not stop.pause(0):
            self._poll(client)
            if due.left_s() == 0 and (not self._asked or answer.left_s() == 0):
                self._commit(self._position)
                due, answer = Deadline.after(commit_every_s), Deadline.after(ANSWER_S)
            self._show("running")
        self._commit(self._position)
        drain = Deadline.after(self._arguments.drain_s)
        while self._asked and drain.left_s() > 0 and not self._failed:
            self._poll(client)
            self._show("draining")
        self._client = None  # in the close nobody is left to hear the answer to a commit
        return True

    def settle(self) -> None:
        """A consumer has no counts to bring up."""

    @property
    def failed(self) -> bool:
        """The client failed fatally."""
        return self._failed

    def show_closed(self) -> None:
        """The last status line."""
        self._show("closed", at_once=True)

    def assignment(self, change: Change, partitions: Sequence[Place]) -> None:
        now_ns = time.monotonic_ns()
        for place in partitions:
            self._tape.begin(
                Kind.ASSIGNMENT,
                topic=self._topics[place[0]],
                partition=place[1],
                sequence=self._ordinal(Kind.ASSIGNMENT),
                end_ns=now_ns,
                b=change,
            )
        if change is Change.ASSIGNED:
            self._assigned |= set(partitions)
            return
        if change is Change.REVOKED:
            self._commit(partitions)
        for place in partitions:
            self._assigned.discard(place)
            self._position.pop(place, None)
            self._committed.pop(place, None)

    def committed(self, results: Iterable[tuple[str, int, int, int]]) -> None:
        now_ns = time.monotonic_ns()
        for topic, partition, offset, code in results:
            slots = self._asked.get((topic, partition, offset))
            if not slots:
                continue  # librdkafka also answers for partitions that had nothing to commit
            self._answered((topic, partition, offset), now_ns, code)
            if not code and (topic, partition) in self._assigned:
                self._committed[topic, partition] = offset

    def failed_with(self, error: ClientError) -> None:
        self._tape.begin(
            Kind.ERROR,
            sequence=self._ordinal(Kind.ERROR),
            end_ns=time.monotonic_ns(),
            b=int(error.fatal),
            code=error.code,
        )
        self._code = error.code
        self._report.note(error)
        self._failed = self._failed or error.fatal
        self._refusal = self._refusal or (error.text if error.refused else None)

    def _poll(self, client: ConsumerClient) -> None:
        self._code = 0
        poll = self._ordinal(Kind.POLL)
        slot = self._tape.begin(Kind.POLL, sequence=poll, begin_ns=time.monotonic_ns())
        received = client.poll(POLL_S)
        now_ns = time.monotonic_ns()
        for record in received:
            self._keep(record, poll, now_ns)
        outcome = Outcome.INDETERMINATE if self._code and not received else Outcome.ACKNOWLEDGED
        self._tape.complete(slot, outcome, end_ns=now_ns, offset=len(received), a=0, code=self._code)

    def _keep(self, record: Received, poll: int, now_ns: int) -> None:
        state, sent = decode(self._run, record.payload)
        self._tape.begin(
            Kind.READ,
            topic=self._topics[record.topic],
            partition=record.partition,
            code=state,
            peer=sent.producer,
            peer_incarnation=sent.incarnation,
            sequence=poll,
            end_ns=now_ns,
            offset=record.offset,
            a=sent.sequence,
            b=record.leader_epoch,
            peer_place=(sent.topic << 32) | (sent.partition & 0xFFFFFFFF),
        )
        place, following = (record.topic, record.partition), record.offset + 1
        self._position[place] = following
        self._furthest[place] = max(following, self._furthest.get(place, 0))
        self._last_read_ns[place] = now_ns
        self._read += 1

    def _commit(self, places: Iterable[Place]) -> None:
        """Ask to commit what was read of `places` and is not known to be committed."""
        if self._client is None:
            return
        positions = [
            (*place, self._position[place])
            for place in places
            if place in self._position and self._committed.get(place) != self._position[place]
        ]
        if not positions:
            return
        now_ns = time.monotonic_ns()
        for position in positions:
            topic, partition, offset = position
            slot = self._tape.begin(
                Kind.COMMIT,
                topic=self._topics[topic],
                partition=partition,
                sequence=self._ordinal(Kind.COMMIT),
                begin_ns=now_ns,
                offset=offset,
                a=-1,
                txn=-1,
            )
            self._asked.setdefault(position, []).append(slot)
        try:
            self._client.commit(positions)
        except Refused as refused:
            for position in positions:
                self._answered(position, time.monotonic_ns(), refused.code, newest=True)

    def _answered(self, position: tuple[str, int, int], now_ns: int, code: int, *, newest: bool = False) -> None:
        slots = self._asked[position]
        slot = slots.pop(-1 if newest else 0)
        if not slots:
            del self._asked[position]
        outcome = Outcome.INDETERMINATE if code else Outcome.ACKNOWLEDGED
        self._tape.complete(slot, outcome, end_ns=now_ns, offset=position[2], a=-1, code=code)

    def _ordinal(self, kind: Kind) -> int:
        ordinal = self._ordinals[kind]
        self._ordinals[kind] = ordinal + 1
        return ordinal

    def _show(self, state: str, *, at_once: bool = False) -> None:
        now_ns = time.monotonic_ns()
        if not (at_once or self._status.is_due(now_ns)):
            return
        self._status.show(
            now_ns,
            {
                "state": state,
                "refusal": self._refusal,
                "read": self._read,
                "positions": _named(self._furthest),
                "assigned": sorted(f"{topic}/{partition}" for topic, partition in self._assigned),
                "last_read_ns": _named(self._last_read_ns),
            },
        )


def _named(figures: dict[Place, int]) -> dict[str, int]:
    return {f"{topic}/{partition}": figure for (topic, partition), figure in figures.items()}
