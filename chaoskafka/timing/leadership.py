"""Who led a partition when, as each live broker told the observer.

In: the observer's `leadership` lines of one partition, and a fault. Out: the change that the fault brought about and
when each live broker's own answer first showed it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from chaoskafka.history.events import FaultWindow
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.timing.spans import Span

NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Leadership over one fault. `new_leader` None: it did not move. Epochs as Kafka numbers them."""

    old_leader: int | None
    old_epoch: int | None
    new_leader: int | None = None
    new_epoch: int | None = None


def answers(history: History, partition: TopicPartition) -> pl.DataFrame:
    """All that any broker said about who leads this partition, in the order of its becoming known."""
    return history.observations.filter(
        (pl.col("kind") == "leadership")
        & (pl.col("topic") == partition.topic)
        & (pl.col("partition") == partition.partition)
    ).sort("hi_ns", maintain_order=True)


def live_brokers(history: History, fault: FaultWindow) -> list[int]:
    """The brokers of the cluster that this fault did not hit."""
    brokers = [int(node) for node, roles in history.header.nodes.items() if "broker" in roles]
    return sorted(set(brokers) - set(fault.targets))


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


def change_over(said: pl.DataFrame, fault: FaultWindow, until_ns: int | None) -> Change:
    """What became of leadership between the fault's deed and `until_ns` (the next fault's deed; None: the end).

    The newest metadata wins (KIP-320): the old leader is the one of the highest epoch known before the deed. The new
    one is the first other leader of a higher epoch; a moment without any leader is not a new leader.
    """
    assert fault.acted_ns is not None
    named = said.filter(pl.col("leader") != NOBODY)
    before = named.filter(pl.col("hi_ns") <= fault.acted_ns).sort("epoch", "hi_ns").tail(1).to_dicts()
    if not before:
        return Change(old_leader=None, old_epoch=None)
    old_leader, old_epoch = before[0]["leader"], before[0]["epoch"]
    later = named.filter(
        (pl.col("hi_ns") > fault.acted_ns) & (pl.col("epoch") > old_epoch) & (pl.col("leader") != old_leader)
    )
    if until_ns is not None:
        later = later.filter(pl.col("hi_ns") <= until_ns)
    after = later.sort("epoch", "hi_ns").head(1).to_dicts()
    if not after:
        return Change(old_leader=old_leader, old_epoch=old_epoch)
    return Change(
        old_leader=old_leader, old_epoch=old_epoch, new_leader=after[0]["leader"], new_epoch=after[0]["epoch"]
    )


def sightings(said: pl.DataFrame, change: Change, brokers: list[int]) -> dict[int, Span]:
    """When each of `brokers` first named the new leader or a later one; a broker that never did is left out."""
    if change.new_epoch is None:
        return {}
    new = said.filter((pl.col("epoch") >= change.new_epoch) & pl.col("broker").is_in(brokers))
    first = new.group_by("broker", maintain_order=True).first().sort("broker")
    return {row["broker"]: Span(row["lo_ns"], row["hi_ns"]) for row in first.to_dicts()}


def in_sync_again(said: pl.DataFrame, fault: FaultWindow, until_ns: int | None, brokers: list[int]) -> Span | None:
    """When a live broker first named the full ISR again after it had named a smaller one; None: that was not seen."""
    assert fault.acted_ns is not None
    during = said.filter((pl.col("hi_ns") > fault.acted_ns) & pl.col("broker").is_in(brokers))
    if until_ns is not None:
        during = during.filter(pl.col("hi_ns") <= until_ns)
    full = (pl.col("isr").list.len() == pl.col("replicas").list.len()).alias("full")
    shrunk_before = (~pl.col("full")).cum_sum().over("broker") > 0
    again = during.with_columns(full).filter(shrunk_before & pl.col("full"))
    first = again.group_by("broker", maintain_order=True).first()
    if first.is_empty():
        return None
    # The first broker to know bounds the instant best: the change came before any of them told of it.
    best = first.sort("hi_ns").row(0, named=True)
    return Span(best["lo_ns"], best["hi_ns"])
