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
from chaoskafka.history.kept import once
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import acted, groups, parted, rivals
from chaoskafka.timing.gaps import longest_gap
from chaoskafka.timing.leadership import Change, answers, change_over, in_sync_again, live_brokers, sightings
from chaoskafka.timing.spans import Span, Stalls, after, deed_of
from chaoskafka.timing.successes import of_group, of_producers, written_since
from chaoskafka.timing.times import BrokerSight, ClientSight, FaultTimes, Gap, Interval, PartitionTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """One fault with what its figures are computed from."""

    history: History
    fault: FaultWindow
    acted_ns: int
    deed: Span
    until_ns: int | None  # the deed of the next fault that is not one of the rivals, or the next move of leadership
    rivals: tuple[FaultWindow, ...]  # in force at the same time
    stalls: Stalls
    comparable: frozenset[str]  # of "produce", "consume", "observe": whose clock is the events' clock
    last_heard_ns: dict[str, int]  # per client


@once
def failover(history: History) -> tuple[FaultTimes, ...]:
    """The times of every fault that was played. One that never bit has no partitions, one never healed no window."""
    deeds = [fault.acted_ns for fault in acted(history) if fault.acted_ns is not None]
    deeds += [event.at_ns for event in history.events if event.event == "place"]
    shared = _comparable(history), Stalls.of(history), _last_heard(history)
    return tuple(_of_fault(history, fault, deeds, shared) for fault in history.faults)


_Shared = tuple[frozenset[str], Stalls, dict[str, int]]


def _of_fault(history: History, fault: FaultWindow, deeds: list[int], shared: _Shared) -> FaultTimes:
    if fault.acted_ns is None or not fault.proof:
        return FaultTimes(index=fault.index, word=fault.word, targets=fault.targets, window_s=None, partitions=())
    comparable, stalls, last_heard_ns = shared
    at_the_same_time = tuple(rivals(history, fault))
    at_once = {rival.acted_ns for rival in at_the_same_time}
    scene = _Scene(
        history=history,
        fault=fault,
        acted_ns=fault.acted_ns,
        deed=deed_of(fault),
        until_ns=min((deed for deed in deeds if deed > fault.acted_ns and deed not in at_once), default=None),
        rivals=at_the_same_time,
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
        overlaps=tuple(rival.index for rival in scene.rivals),
    )


def _of_partition(scene: _Scene, partition: TopicPartition) -> PartitionTimes:
    change, seen_by, in_sync = _leadership(scene, partition)
    loaded = "produce" in scene.comparable and has_load(scene.history.sends(partition)["invoked_ns"], scene.fault)
    first_ack, unavailable = _producers(scene, partition, change) if loaded else ([], [])
    first_read: list[ClientSight] = []
    if loaded and "consume" in scene.comparable:
        for group in [group for group in groups(scene.history) if group.topic == partition.topic]:
            name, successes = f"group {group.name}", of_group(scene.history, group, partition)
            first_read += _first(scene, name, _after(scene, partition, successes, change))
            unavailable.append(_gap(scene, name, successes))
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
    brokers = live_brokers(scene.history, scene.fault, scene.rivals)
    seen_by = tuple(
        BrokerSight(broker=broker, seen=after(span, scene.deed, scene.stalls))
        for broker, span in sightings(said, change, brokers).items()
    )
    again = in_sync_again(said, scene.fault, scene.until_ns, brokers)
    return change, seen_by, after(again, scene.deed, scene.stalls) if again else None


def _producers(scene: _Scene, partition: TopicPartition, change: Change) -> tuple[list[ClientSight], list[Gap]]:
    """First acknowledgements and gaps of each producer that sent to this partition while the fault was in force; one
    without any success is the worst off, not left out."""
    acked = of_producers(scene.history, partition)
    sends = _by_producer(scene.history.sends(partition).select("producer", "invoked_ns"))
    successes, reached = _by_producer(acked), _by_producer(_after(scene, partition, acked, change))
    first: list[ClientSight] = []
    gaps: list[Gap] = []
    for producer, own in sorted(sends.items()):
        name = f"producer {producer}"
        if producer in reached:
            first += _first(scene, name, reached[producer])
        if has_load(own["invoked_ns"], scene.fault):
            gaps.append(_gap(scene, name, successes.get(producer, acked.clear())))
    return first, gaps


def _by_producer(rows: pl.DataFrame) -> dict[int, pl.DataFrame]:
    return {int(producer): own for (producer,), own in parted(rows, "producer").items()}


def _after(scene: _Scene, partition: TopicPartition, successes: pl.DataFrame, change: Change) -> pl.DataFrame:
    """The successes under the new leader; where none was elected, those after the deed."""
    if change.new_epoch is None:
        return successes.filter(pl.col("lo_ns") > scene.acted_ns)
    later = successes.filter(pl.col("hi_ns") > scene.deed.lo_ns)
    return written_since(later, change.new_epoch, scene.history, partition)


def _first(scene: _Scene, client: str, reached: pl.DataFrame) -> list[ClientSight]:
    lo_ns, hi_ns = reached["lo_ns"].min(), reached["hi_ns"].min()
    if not isinstance(lo_ns, int) or not isinstance(hi_ns, int):
        return []
    return [ClientSight(client=client, first=after(Span(lo_ns, hi_ns), scene.deed, scene.stalls))]


def _gap(scene: _Scene, client: str, successes: pl.DataFrame) -> Gap:
    last_heard_ns = scene.last_heard_ns.get(client, scene.acted_ns)
    return longest_gap(client, successes, scene.fault, last_heard_ns, scene.stalls)


def _note(scene: _Scene, partition: TopicPartition, change: Change, *, loaded: bool) -> str | None:
    """Why figures are missing."""
    why = []
    if "observe" not in scene.comparable:
        why.append("no observer on the clock of the events: leadership unknown")
    elif change.old_leader is None:
        why.append("no broker had named a leader before the fault")
    elif change.new_epoch is not None and partition not in scene.history.ends:
        why.append("not audited: which acknowledgement lies in the new epoch is unknown")
    if change.new_leader is not None and (others := _others_doing(scene, change)):
        why.append(
            f"fault {', '.join(map(str, others))} was in force too: whose doing the new leader is cannot be told"
        )
    if "produce" not in scene.comparable:
        why.append("producers stood on another clock")
    elif not loaded:
        why.append("no load while the fault was in force")
    if "consume" not in scene.comparable:
        why.append("consumers stood on another clock")
    return "; ".join(why) or None


def _others_doing(scene: _Scene, change: Change) -> list[int]:
    """The faults in force at the same time that may be why leadership moved: who hit the old leader, else any."""
    hit = [rival.index for rival in scene.rivals if change.old_leader in rival.targets]
    if change.old_leader in scene.fault.targets:
        return hit
    return hit or [rival.index for rival in scene.rivals]


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
