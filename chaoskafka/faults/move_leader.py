"""Move leader: a person has partitions led by other brokers, while all of them live. An action.

In go a topic and where to. Out: a proof that every broker names the new leader in a later epoch. The deed is asked of
the controllers; the proof comes from the brokers, each asked over a connection of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaoskafka.clock import wait_until
from chaoskafka.cluster import sights
from chaoskafka.cluster.abilities import Node
from chaoskafka.cluster.moving import OTHER, Move, broker_of, moves, unmoved
from chaoskafka.cluster.sights import Partition, show
from chaoskafka.errors import FaultFailed, NoTarget, WaitTimeout
from chaoskafka.faults import Injected, Stage
from chaoskafka.faults.playing import check_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveLeader:
    """Let other brokers lead partitions of `topic`, by reassignment where needed and preferred election.

    Entering blocks up to `move_s` twice: for the controllers to grant it, and for every broker to know. It stays moved.
    Raises NoTarget when nothing is to be moved or a partition has no leader, FaultFailed when Kafka refuses or brokers
    do not come to know, and when a partition is led by somebody else in the end.
    """

    topic: str  # whose partitions
    partition: int | None = None  # one of them; without: all
    to: str = OTHER  # preferred, any other replica, or broker N
    move_s: float = 60.0  # a broker that is no replica yet must copy all first

    needs: ClassVar[tuple[type[Node], ...]] = ()

    def __post_init__(self) -> None:
        check_seconds(self, "move_s")
        if self.partition is not None and self.partition < 0:
            raise ValueError(f"partition: {self.partition} is below 0")
        try:
            broker_of(self.to)
        except ValueError as wrong:
            raise ValueError(f"to: {wrong}") from None

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        wanted = self._moves(stage)
        deed = stage.move(wanted, within_s=self.move_s)
        try:
            wait_until(
                "every broker to name the new leaders",
                read=lambda: list(unmoved(stage.look(), wanted)),
                good=lambda left: not left,
                within_s=self.move_s,
                clock=stage.clock,
            )
        except WaitTimeout as unseen:
            raise FaultFailed(f"{deed.what} was granted and not seen to bite: {unseen}") from unseen
        proof = {"means": deed.means, "moved": {show(move.partition): move.facts for move in wanted}}
        hit = Injected(targets=(), acted_ns=deed.acted_ns, asked_ns=deed.asked_ns, proof=proof)
        yield hit
        hit.heal_proof = _stayed(stage, wanted)

    def _moves(self, stage: Stage) -> Sequence[Move]:
        now = sights.leadership(stage.look())
        partitions: list[Partition] = [at for at in now if at[0] == self.topic]
        if self.partition is not None:
            partitions = [(self.topic, self.partition)]
        wanted = moves(now, partitions, self.to)
        if not wanted:
            led = ", ".join(f"{show(at)} by {now[at].leader}" for at in partitions) or "no broker knows the topic"
            raise NoTarget(f"move_leader of {self.topic} to {self.to}: nothing is to be moved: {led}")
        return wanted


def _stayed(stage: Stage, wanted: Sequence[Move]) -> dict[str, object]:
    if left := list(unmoved(stage.look(), wanted)):
        raise FaultFailed(f"leaders were moved and did not stay: {left[0]}")
    return {show(move.partition): {"leader": move.new} for move in wanted}
