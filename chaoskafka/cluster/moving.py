"""Where leadership is to go: a wish, and what every broker said, become moves. Pure, and without any client.

In: `preferred`, `any other replica` or `broker N`, and who leads now. Out: one `Move` per partition whose leader is to
change, with the order of replicas that makes the wanted one preferred.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chaoskafka.cluster.sights import NO_LEADER, BrokerView, Partition, PartitionView, reachable, show
from chaoskafka.errors import NoTarget

PREFERRED, OTHER = "preferred", "any other replica"
WISHES = f"{PREFERRED}, {OTHER}, or broker N"
_BROKER = re.compile(r"broker (\d{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Leadership of one partition goes from one broker to another."""

    partition: Partition
    old: int
    epoch: int  # in which the old one leads
    new: int
    replicas: tuple[int, ...]  # the new leader first
    reorders: bool  # whether these differ from what they are
    copies: bool  # whether the new leader has to become a replica first

    @property
    def facts(self) -> dict[str, object]:
        """As JSON."""
        return {"from": self.old, "epoch": self.epoch, "to": self.new, "replicas": list(self.replicas)}


def broker_of(wish: str) -> int | None:
    """The broker that a wish names; None: it names none.

    Raises ValueError, saying what is allowed, when it is no wish.
    """
    found = _BROKER.fullmatch(wish)
    if found is None and wish not in (PREFERRED, OTHER):
        raise ValueError(f"{wish!r} is not allowed; allowed: {WISHES}")
    return int(found[1]) if found else None


def moves(leadership: Mapping[Partition, PartitionView], partitions: Sequence[Partition], wish: str) -> list[Move]:
    """One for each of `partitions` that is not led as wished yet.

    Raises NoTarget when one of them is unknown or without a leader, or when no replica can take over.
    """
    found = []
    for partition in partitions:
        seen = leadership.get(partition)
        if seen is None or seen.leader == NO_LEADER:
            raise NoTarget(f"{show(partition)}: {'no broker knows it' if seen is None else 'nobody leads it'}")
        new = _wanted(partition, seen, wish)
        if new != seen.leader:
            found.append(_move(partition, seen, new))
    return found


def unmoved(views: Sequence[BrokerView], wanted: Sequence[Move]) -> Iterator[str]:
    """Where a broker that answers does not name the new leader, in a later epoch. Nothing: all know all."""
    if not reachable(views):
        yield "no broker answers"
    for view in reachable(views):
        for move in wanted:
            seen = view.partitions.get(move.partition)
            if seen is None or seen.leader != move.new or seen.leader_epoch <= move.epoch:
                named = "nobody" if seen is None else f"{seen.leader} in epoch {seen.leader_epoch}"
                yield f"{show(move.partition)}: broker {view.broker} names {named}, not {move.new}"


def _wanted(partition: Partition, seen: PartitionView, wish: str) -> int:
    if (broker := broker_of(wish)) is not None:
        return broker
    if wish == PREFERRED:
        return seen.replicas[0]
    others = [replica for replica in seen.replicas if replica != seen.leader and replica in seen.isr]
    if not others:
        raise NoTarget(f"{show(partition)}: no other replica is in sync; leader {seen.leader}, isr {list(seen.isr)}")
    return others[0]


def _move(partition: Partition, seen: PartitionView, new: int) -> Move:
    others = [replica for replica in seen.replicas if replica != new]
    copies = new not in seen.replicas
    if copies:  # it takes the place of the old leader, so that there are as many copies as before
        others.remove(seen.leader)
    replicas = (new, *others)
    return Move(
        partition=partition,
        old=seen.leader,
        epoch=seen.leader_epoch,
        new=new,
        replicas=replicas,
        reorders=replicas != seen.replicas,
        copies=copies,
    )
