"""`failover(history)`: per fault and partition, who led before and after and how long each client was without success.

In: a History. Out: the values of `times`. Pure. Instants of different clocks are never compared: what would need it is
left out, and the partition's note says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import clock_doubts, has_load, observer_clock_doubts
from chaoskafka.history.events import FaultWindow
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import acted, groups
from chaoskafka.timing.gaps import longest_gap
from chaoskafka.timing.leadership import Change, answers, change_over, in_sync_again, live_brokers, sightings
from chaoskafka.timing.spans import Span, Stalls, after
from chaoskafka.timing.successes import SUCCESS, of_groups, of_producers, written_since
from chaoskafka.timing.times import BrokerSight, ClientSight, FaultTimes, Gap, Interval, PartitionTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """One fault with what its figures are computed from."""

    history: History
    fault: FaultWindow
    acted_ns: int
    until_ns: int | None  # the next fault's deed
    stalls: Stalls
    comparable: frozenset[str]  # of "produce", "consume", "observe": whose clock is the events' clock
    last_heard_ns: dict[str, int]  # per client


def failover(history: History) -> tuple[FaultTimes, ...]:
    """The times of every fault that was played. One that never bit has no partitions, one never healed no window."""
    deeds = [fault.acted_ns for fault in acted(history) if fault.acted_ns is not None]
    shared = _comparable(history), Stalls.of(history), _last_heard(history)
    return tuple(_of_fault(history, fault, deeds, shared) for fault in history.faults)


_Shared = tuple[frozenset[str], Stalls, dict[str, int]]
Client = tuple[str, pl.DataFrame]  # its name and its successes


def _of_fault(history: History, fault: FaultWindow, deeds: list[int], shared: _Shared) -> FaultTimes:
    if fault.acted_ns is None or not fault.proof:
        return FaultTimes(index=fault.index, word=fault.word, targets=fault.targets, window_s=None, partitions=())
    comparable, stalls, last_heard_ns = shared
    scene = _Scene(
        history=history,
        fault=fault,
        acted_ns=fault.acted_ns,
        until_ns=min((deed for deed in deeds if deed > fault.acted_ns), default=None),
        stalls=stalls,
        comparable=comparable,
        last_heard_ns=last_heard_ns,
    )
    return FaultTimes(
        index=fault.index,
        word=fault.word,
        targets=fault.targets,
        window_s=(fault.healed_ns - fault.acted_ns) / NS_PER_S if fault.healed_ns is not None else None,
        partitions=tuple(_of_partition(scene, partition) for partition in history.partitions),
    )


def _of_partition(scene: _Scene, partition: TopicPartition) -> PartitionTimes:
    change, seen_by, in_sync = _leadership(scene, partition)
    sends = scene.history.sends(partition).select("producer", "invoked_ns")
    loaded = "produce" in scene.comparable and has_load(sends["invoked_ns"], scene.fault)
    first_ack, first_read, unavailable = [], [], []
    if loaded:
        for producer, client in _producers(scene, partition, sends):
            first_ack += _first(scene, partition, client, change)
            if has_load(sends.filter(pl.col("producer") == producer)["invoked_ns"], scene.fault):
                unavailable.append(_gap(scene, client))
    if loaded and "consume" in scene.comparable:
        for group, successes in of_groups(scene.history, partition):
            client = (f"group {group}", successes)
            first_read += _first(scene, partition, client, change)
            unavailable.append(_gap(scene, client))
    return PartitionTimes(
        topic=partition.topic,
        partition=partition.partition,
        old_leader=change.old_leader,
        new_leader=change.new_leader,
        old_epoch=change.old_epoch,
        new_epoch=change.new_epoch,
        seen_by=seen_by,
        first_ack=tuple(first_ack),
        first_read=tuple(first_read),
        unavailable=tuple(unavailable),
        in_sync=in_sync,
        note=_note(scene, partition, change, loaded=loaded),
    )


def _leadership(scene: _Scene, partition: TopicPartition) -> tuple[Change, tuple[BrokerSight, ...], Interval | None]:
    if "observe" not in scene.comparable:
        return Change(old_leader=None, old_epoch=None), (), None
    said = answers(scene.history, partition)
    change = change_over(said, scene.fault, scene.until_ns)
    brokers = live_brokers(scene.history, scene.fault)
    seen_by = tuple(
        BrokerSight(broker=broker, seen=after(span, scene.acted_ns, scene.stalls))
        for broker, span in sightings(said, change, brokers).items()
    )
    again = in_sync_again(said, scene.fault, scene.until_ns, brokers)
    return change, seen_by, after(again, scene.acted_ns, scene.stalls) if again else None


def _producers(scene: _Scene, partition: TopicPartition, sends: pl.DataFrame) -> list[tuple[int, Client]]:
    """Each producer that sent to this partition, with its successes; one without any is the worst off, not left out."""
    found = dict(of_producers(scene.history, partition))
    nothing = pl.DataFrame(schema=SUCCESS)
    return [
        (producer, (f"producer {producer}", found.get(producer, nothing)))
        for producer in sends["producer"].unique().sort().to_list()
    ]


def _first(scene: _Scene, partition: TopicPartition, client: Client, change: Change) -> list[ClientSight]:
    """The first success under the new leader; where none was elected, the first after the deed."""
    name, successes = client
    if change.new_epoch is None:
        reached = successes.filter(pl.col("lo_ns") > scene.acted_ns)
    else:
        later = successes.filter(pl.col("hi_ns") > scene.acted_ns)
        reached = written_since(later, change.new_epoch, scene.history, partition)
    if reached.is_empty():
        return []
    lo_ns, hi_ns = reached.select(pl.col("lo_ns").min(), pl.col("hi_ns").min()).row(0)
    return [ClientSight(client=name, first=after(Span(lo_ns, hi_ns), scene.acted_ns, scene.stalls))]


def _gap(scene: _Scene, client: Client) -> Gap:
    name, successes = client
    return longest_gap(name, successes, scene.fault, scene.last_heard_ns.get(name, scene.acted_ns), scene.stalls)


def _note(scene: _Scene, partition: TopicPartition, change: Change, *, loaded: bool) -> str | None:
    """Why figures are missing."""
    why = []
    if "observe" not in scene.comparable:
        why.append("no observer on the clock of the events: leadership unknown")
    elif change.old_leader is None:
        why.append("no broker had named a leader before the fault")
    elif change.new_epoch is not None and partition not in scene.history.ends:
        why.append("not audited: which acknowledgement lies in the new epoch is unknown")
    if "produce" not in scene.comparable:
        why.append("producers stood on another clock")
    elif not loaded:
        why.append("no load while the fault was in force")
    if "consume" not in scene.comparable:
        why.append("consumers stood on another clock")
    return "; ".join(why) or None


def _comparable(history: History) -> frozenset[str]:
    doubts = {
        "produce": clock_doubts(history, "produce"),
        "consume": clock_doubts(history, "consume"),
        "observe": observer_clock_doubts(history),
    }
    return frozenset(who for who, found in doubts.items() if not found)


def _last_heard(history: History) -> dict[str, int]:
    """When each client last did anything, on any partition: there an open gap ends."""
    heard: dict[str, int] = {}
    for partition in history.partitions:
        own = (
            history.sends(partition)
            .group_by("producer")
            .agg(pl.max_horizontal(pl.col("invoked_ns").max(), pl.col("completed_ns").max()).alias("last"))
        )
        for producer, last in own.iter_rows():
            heard[f"producer {producer}"] = max(heard.get(f"producer {producer}", 0), last)
    for group in groups(history):
        polls = history.polls.filter(pl.col("consumer").is_in(list(group.members)))
        last = polls.select(pl.max_horizontal(pl.col("begin_ns").max(), pl.col("end_ns").max())).item()
        heard[f"group {group.name}"] = max(heard.get(f"group {group.name}", 0), last or 0)
    return heard
