"""One lane per partition: who led it; beneath it when replicas were missing from the ISR, and when nobody got through.

In: a History and an Axis. Out: a Section. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import clock_doubts, observer_clock_doubts
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import delivered_to, groups, loaded
from chaoskafka.report.leaders import NOBODY, Told, news
from chaoskafka.report.timeline.axis import Axis
from chaoskafka.report.timeline.model import Bar, Lane, Section, State

LANES_MAX = 60  # more cannot be taken in, and would be most of the file; those where something happened come first
GAP_SURE_NS = 5 * NS_PER_S  # an interruption, however rare successes are
GAPS_MAX = 40  # strips in one lane, the longest: more melt into each other
GAP_MIN_NS = NS_PER_S // 2  # what is shorter cannot be told from a slow request on a busy machine
GAP_TIMES_USUAL = 10  # so many times the distance that 9 of 10 pairs of successes keep is an interruption


def partition_section(history: History, axis: Axis) -> Section:
    seen = not observer_clock_doubts(history)
    comparable = frozenset(word for word in ("produce", "consume") if not clock_doubts(history, word))
    under_load = frozenset(loaded(history))
    lanes = []
    for partition in history.partitions:
        bars = list(_leadership(news(history, partition), axis)) if seen else []
        if partition in under_load:
            bars += _interruptions(history, partition, axis, comparable)
        lanes.append(Lane(name=str(partition), bars=tuple(bars), rows=3))
    shown = sorted(sorted(range(len(lanes)), key=lambda i: _calm(lanes[i]))[:LANES_MAX])
    notes = []
    if len(lanes) > len(shown):
        notes.append(f"{len(lanes) - len(shown)} more partitions, where less happened, are not drawn")
    if not seen:
        notes.append("no observer on the clock of the events: leaders are unknown")
    return Section(name="partitions", lanes=tuple(lanes[i] for i in shown), note="; ".join(notes) or None)


def _calm(lane: Lane) -> tuple[int, float]:
    """Sorts those whose leader changed most to the front, then those that were interrupted longest."""
    led = [bar.broker for bar in lane.bars if bar.state in (State.LEADER, State.LEADERLESS)]
    changes = sum(one != other for one, other in pairwise(led))
    return -changes, -sum(bar.hi_s - bar.lo_s for bar in lane.bars if bar.row)


def _leadership(said: list[Told], axis: Axis) -> Iterator[Bar]:
    for i, one in enumerate(said):
        span = axis.between(one.hi_ns, said[i + 1].hi_ns if i + 1 < len(said) else None)
        if span is None:
            continue
        in_sync = ", ".join(map(str, one.isr)) or "nobody"
        if one.leader == NOBODY:
            told = f"no leader, epoch {one.epoch}, in sync: {in_sync}"
            yield Bar(lo_s=span[0], hi_s=span[1], state=State.LEADERLESS, label="none", told=told)
        else:
            told = f"leader {one.leader}, epoch {one.epoch}, in sync: {in_sync}; told by {one.teller}"
            yield Bar(
                lo_s=span[0], hi_s=span[1], state=State.LEADER, label=str(one.leader), told=told, broker=one.leader
            )
        if not one.is_full:
            gone = ", ".join(str(b) for b in one.replicas if b not in one.isr)
            yield Bar(lo_s=span[0], hi_s=span[1], state=State.SHRUNK, told=f"not in sync: {gone}", row=1)


def _interruptions(
    history: History, partition: TopicPartition, axis: Axis, comparable: frozenset[str]
) -> Iterator[Bar]:
    sends = history.sends(partition)
    offered = sends["invoked_ns"].drop_nulls().sort()
    if offered.is_empty():
        return
    first_ns, last_ns = int(offered[0]), int(offered[-1])
    if "produce" in comparable:
        acked_ns = sends.filter(pl.col("outcome") == Outcome.ACKNOWLEDGED)["completed_ns"]
        yield from _gaps(acked_ns, (first_ns, last_ns), axis, State.SILENT)
    if "consume" in comparable:
        for group in groups(history):
            if group.topic == partition.topic:
                read_ns = delivered_to(group, history.reads(partition))["read_ns"]
                yield from _gaps(read_ns, (None, last_ns), axis, State.STARVED, f" to group {group.name}")


def _gaps(
    successes_ns: pl.Series, load: tuple[int | None, int], axis: Axis, state: State, of: str = ""
) -> Iterator[Bar]:
    """The times without a success while there was load; `load`: its first and last instant."""
    edges = [edge for edge in load if edge is not None]
    ordered = pl.concat([successes_ns.drop_nulls(), pl.Series(edges, dtype=pl.Int64)]).sort()
    between = ordered.diff().drop_nulls()
    if between.is_empty():
        return
    usual_ns = between.sort()[round(0.9 * (len(between) - 1))]
    floor_ns = max(GAP_MIN_NS, min(GAP_TIMES_USUAL * int(usual_ns), GAP_SURE_NS))
    table = pl.DataFrame({"lo_ns": ordered[:-1], "long_ns": between})
    for lo_ns, long_ns in table.filter(pl.col("long_ns") > floor_ns).top_k(GAPS_MAX, by="long_ns").rows():
        if span := axis.between(lo_ns, lo_ns + long_ns):
            told = f"{state}{of} for {long_ns / NS_PER_S:.2f} s"
            yield Bar(lo_s=span[0], hi_s=span[1], state=state, told=told, row=2 if state is State.SILENT else 3)
