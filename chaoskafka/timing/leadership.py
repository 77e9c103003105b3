"""Who led a partition when, as each live broker told the observer.

In: the observer's `leadership` lines of one partition, and a fault. Out: the change that the fault brought about and
when each live broker's own answer first showed it. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from chaoskafka.history.events import FaultWindow
from chaoskafka.history.kept import once
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.timing.spans import Span, deed_of

NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Leadership over one fault. `new_leader` None: it did not move. Epochs as Kafka numbers them."""

    old_leader: int | None
    old_epoch: int | None
    new_leader: int | None = None
    new_epoch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One broker's answer to who leads a partition: it became true for this broker after lo_ns, not after hi_ns."""

    broker: int
    leader: int
    epoch: int
    in_sync: bool  # every replica is
    lo_ns: int
    hi_ns: int


def answers(history: History, partition: TopicPartition) -> list[Said]:
    """All that any broker said about who leads this partition, in the order of its becoming known."""
    return _answers(history).get(partition, [])


@once
def _answers(history: History) -> dict[TopicPartition, list[Said]]:
    """Brokers' answers are written down when they change, so there are few: plain values serve better than tables."""
    told = history.observations.filter(pl.col("kind") == "leadership").select(
        "topic",
        "partition",
        "broker",
        "leader",
        "epoch",
        (pl.col("isr").list.len() == pl.col("replicas").list.len()).alias("in_sync"),
        "lo_ns",
        "hi_ns",
    )
    found: dict[TopicPartition, list[Said]] = {}
    # A line that lacks any of it is not an answer.
    for row in told.drop_nulls().sort("hi_ns", maintain_order=True).to_dicts():
        found.setdefault(TopicPartition(row.pop("topic"), row.pop("partition")), []).append(Said(**row))
    return found


def live_brokers(history: History, fault: FaultWindow, rivals: Sequence[FaultWindow] = ()) -> list[int]:
    """The brokers of the cluster that neither this fault hit nor one that was in force at the same time."""
    brokers = [int(node) for node, roles in history.header.nodes.items() if "broker" in roles]
    return sorted(set(brokers).difference(fault.targets, *(rival.targets for rival in rivals)))


def watched_until_ns(history: History, broker: int) -> int | None:
    """Until when the observer surely still had this broker's answers; None: it never had one.

    Answers are written down when they change: until then the last one stands.
    """
    own = history.observations.filter(pl.col("broker") == broker)
    if own.filter(pl.col("kind") == "leadership").is_empty():
        return None
    reached = own.filter(pl.col("kind") == "reachable").sort("hi_ns").tail(1)
    if not reached.is_empty() and not reached["up"].item():
        return int(reached["lo_ns"].item())
    stopped = history.observations.filter(pl.col("kind") == "stopped")["lo_ns"].max()
    last = stopped if isinstance(stopped, int) else history.observations["hi_ns"].max()
    return last if isinstance(last, int) else None


def change_over(said: Sequence[Said], fault: FaultWindow, until_ns: int | None) -> Change:
    """What became of leadership between the fault's deed and `until_ns` (the next fault's deed; None: the end).

    The newest metadata wins (KIP-320): the old leader is the one of the highest epoch known before the deed. The new
    one is the first other leader of a higher epoch; a moment without any leader is not a new leader.
    """
    # A deed that took time, as a request for an election does, may have had its effect before it was answered.
    acted_ns = deed_of(fault).lo_ns
    before = [answer for answer in said if answer.hi_ns <= acted_ns and answer.leader != NOBODY]
    if not before:
        return Change(old_leader=None, old_epoch=None)
    old = max(before, key=_by_epoch)
    later = [
        answer
        for answer in _between(said, acted_ns, until_ns)
        if answer.epoch > old.epoch and answer.leader not in (NOBODY, old.leader)
    ]
    if not later:
        return Change(old_leader=old.leader, old_epoch=old.epoch)
    new = min(later, key=_by_epoch)
    return Change(old_leader=old.leader, old_epoch=old.epoch, new_leader=new.leader, new_epoch=new.epoch)


def sightings(said: Sequence[Said], change: Change, brokers: Sequence[int]) -> dict[int, Span]:
    """When each of `brokers` first named the new leader or a later one; a broker that never did is left out."""
    if change.new_epoch is None:
        return {}
    first: dict[int, Span] = {}
    for answer in said:
        if answer.epoch >= change.new_epoch and answer.broker in brokers:
            first.setdefault(answer.broker, Span(answer.lo_ns, answer.hi_ns))
    return dict(sorted(first.items()))


def in_sync_again(
    said: Sequence[Said], fault: FaultWindow, until_ns: int | None, brokers: Sequence[int]
) -> Span | None:
    """When a live broker first named the full ISR again after it had named a smaller one; None: that was not seen."""
    saw_it_shrunk: set[int] = set()
    for answer in _between(said, deed_of(fault).lo_ns, until_ns):
        if answer.broker in brokers and not answer.in_sync:
            saw_it_shrunk.add(answer.broker)
        elif answer.broker in saw_it_shrunk:
            # The first broker to know bounds the instant best: the change came before any of them told of it.
            return Span(answer.lo_ns, answer.hi_ns)
    return None


def _between(said: Sequence[Said], after_ns: int, until_ns: int | None) -> list[Said]:
    return [answer for answer in said if answer.hi_ns > after_ns and (until_ns is None or answer.hi_ns <= until_ns)]


def _by_epoch(answer: Said) -> tuple[int, int]:
    return answer.epoch, answer.hi_ns
