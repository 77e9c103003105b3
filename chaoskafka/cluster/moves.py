"""Moves leadership: reassigns replicas, then asks for the election of the preferred one. Over our own connections.

In: `Move`s. Out: both requests granted. Whether brokers know of it is asked elsewhere. The client that is judged has no
part in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i32Timedelta

from chaoskafka.clock import Clock, Deadline, wait_until
from chaoskafka.cluster.abilities import Deed
from chaoskafka.cluster.moving import Move
from chaoskafka.cluster.sights import Partition, leadership, show
from chaoskafka.cluster.views import Views
from chaoskafka.cluster.wire.asks import Api, Ask
from chaoskafka.errors import FaultFailed, NoAnswer

R = TypeVar("R")

ELECT_LEADERS = Api(43, "elect_leaders", (2,))
ALTER_PARTITION_REASSIGNMENTS = Api(45, "alter_partition_reassignments", (0,))  # v1 can only be told more
PREFERRED = i8(0)  # election type
ANSWER_S = 10.0  # the controllers answer an election once it was written; 20 to 50 ms on a quiet machine
EVERY_S = 0.2  # between two looks at a replica that is being copied


class Moves:
    """Asks brokers, by the connections that `views` makes, for what only an administrator may ask."""

    def __init__(self, views: Views) -> None:
        self._views = views

    def make(self, wanted: Sequence[Move], *, within_s: float, clock: Clock) -> Deed:
        """Have each partition led by its new leader. Blocks until the controllers have granted it.

        Raises FaultFailed when they refuse, WaitTimeout when a new replica does not catch up, NoAnswer when no broker
        answers, and Interrupted by the clock.
        """
        deadline = Deadline.after(within_s, clock)
        asked_ns = time.monotonic_ns()  # a leader that is no replica any more goes before any election
        if reordered := [move for move in wanted if move.reorders]:
            self._reassign(reordered)
        if copied := [move for move in wanted if move.copies]:
            wait_until(
                "new replicas to be in sync",
                read=lambda: list(self._behind(copied)),
                good=lambda behind: not behind,
                within_s=deadline.left_s(clock),
                every_s=EVERY_S,
                clock=clock,
            )
        self._elect([move.partition for move in wanted])
        what = f"election for {', '.join(show(move.partition) for move in wanted)}"
        return Deed(what=what, means="ElectLeaders", asked_ns=asked_ns, acted_ns=time.monotonic_ns())

    def _behind(self, copied: Sequence[Move]) -> Iterable[str]:
        now = leadership(self._views.ask_all())
        for move in copied:
            isr = now[move.partition].isr if move.partition in now else ()
            if move.new not in isr:
                yield f"{show(move.partition)}: {move.new} is not in {list(isr)}"

    def _reassign(self, wanted: Sequence[Move]) -> None:
        answer = self._of_any(reassign({move.partition: move.replicas for move in wanted}))
        refused = [(answer.error_code, "")] + [
            (part.error_code, f"{topic.name}/{part.partition_index}: {part.error_message or ''}")
            for topic in answer.responses
            for part in topic.partitions
        ]
        _granted("reassigning replicas", refused, ())

    def _elect(self, partitions: Sequence[Partition]) -> None:
        answer = self._of_any(elect_preferred(partitions))
        refused = [(answer.error_code, "")] + [
            (part.error_code, f"{topic.topic}/{part.partition_id}: {part.error_message or ''}")
            for topic in answer.replica_election_results
            for part in topic.partition_result
        ]
        # Not needed: a broker that was asked before, whose answer was lost, has had it done.
        _granted("electing preferred leaders", refused, (ErrorCode.election_not_needed,))

    def _of_any(self, question: Ask[R]) -> R:
        """The first broker's answer that gives one; it forwards the question to the active controller."""
        silence = NoAnswer("there is no broker")
        for broker in sorted(self._views.addresses):
            try:
                with self._views.connect(broker) as connection:
                    return connection.ask(question, timeout_s=ANSWER_S)
            except NoAnswer as lost:
                silence = lost
        raise silence


def elect_preferred(partitions: Sequence[Partition]) -> Ask[Any]:
    """Let the first replica of each partition lead, where it is in sync (KIP-460)."""

    def build(schema: Any) -> Any:
        def topic(name: str) -> Any:
            numbers = tuple(i32(number) for of, number in partitions if of == name)
            return schema.TopicPartitions(topic=TopicName(name), partitions=numbers)

        names = dict.fromkeys(name for name, _ in partitions)
        return schema.ElectLeadersRequest(
            election_type=PREFERRED, topic_partitions=tuple(map(topic, names)), timeout=_patience()
        )

    return Ask(ELECT_LEADERS, build)


def reassign(replicas: dict[Partition, tuple[int, ...]]) -> Ask[Any]:
    """Let each partition have these replicas, the first of them preferred (KIP-455)."""

    def build(schema: Any) -> Any:
        def topic(name: str) -> Any:
            parts = tuple(
                schema.ReassignablePartition(partition_index=i32(number), replicas=tuple(map(BrokerId, brokers)))
                for (of, number), brokers in replicas.items()
                if of == name
            )
            return schema.ReassignableTopic(name=TopicName(name), partitions=parts)

        names = dict.fromkeys(name for name, _ in replicas)
        return schema.AlterPartitionReassignmentsRequest(timeout=_patience(), topics=tuple(map(topic, names)))

    return Ask(ALTER_PARTITION_REASSIGNMENTS, build)


def _patience() -> Any:
    return i32Timedelta.parse(timedelta(seconds=ANSWER_S / 2))


def _granted(what: str, said: Iterable[tuple[ErrorCode, str]], also: tuple[ErrorCode, ...]) -> None:
    for code, where in said:
        if code and code not in also:
            raise FaultFailed(f"{what}: Kafka refused: {code.name} {where}".rstrip())
