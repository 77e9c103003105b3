"""One lane per partition: who led it; beneath it when replicas were missing from the ISR, and when nobody got through.

In: a History and an Axis. Out: a Section. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import clock_doubts, observer_clock_doubts
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import groups, loaded
from chaoskafka.report.leaders import NOBODY, Told, news
from chaoskafka.report.timeline.axis import Axis
from chaoskafka.report.timeline.model import Bar, Lane, Section, State
from chaoskafka.timing.successes import of_group, of_producers

LANES_MAX = 60  # more cannot be taken in, and would be most of the file; those where something happened come first
GAP_SURE_NS = 5 * NS_PER_S  # an interruption, however rare successes are
GAPS_MAX = 40  # strips in one lane, the longest: more melt into each other
GAP_MIN_NS = NS_PER_S // 2  # what is shorter cannot be told from a slow request on a busy machine
GAP_TIMES_USUAL = 10  # so many times the distance that 9 of 10 pairs of successes keep is an interruption


def partition_section(history: History, axis: Axis) -> Section:
    lanes = [_lane(history, partition, axis) for partition in history.partitions]
    shown = sorted(sorted(range(len(lanes)), key=lambda i: _calm(lanes[i]))[:LANES_MAX])
    notes = []
    if len(lanes) > len(shown):
        notes.append(f"{len(lanes) - len(shown)} more partitions, where less happened, are not drawn")
    if observer_clock_doubts(history):
        notes.append("no observer on the clock of the events: leaders are unknown")
    return Section(name="partitions", lanes=tuple(lanes[i] for i in shown), note="; ".join(notes) or None)


def _calm(lane: Lane) -> tuple[int, float]:
    """Sorts what happened most to the front."""
    leaders = sum(bar.state in (State.LEADER, State.LEADERLESS) for bar in lane.bars)
    return -leaders, -sum(bar.hi_s - bar.lo_s for bar in lane.bars if bar.row)


def _lane(history: History, partition: TopicPartition, axis: Axis) -> Lane:
    bars = [] if observer_clock_doubts(history) else list(_leadership(news(history, partition), axis))
    if partition in loaded(history):
        bars += _interruptions(history, partition, axis)
    return Lane(name=str(partition), bars=tuple(bars), rows=3)


def _leadership(said: list[Told], axis: Axis) -> Iterator[Bar]:
    ends = [*(one.hi_ns for one in said[1:]), None]
    for one, end_ns in zip(said, ends, strict=True):
        span = axis.between(one.hi_ns, end_ns)
        if span is None:
            continue
        in_sync = ", ".join(map(str, one.isr)) or "nobody"
        if one.leader == NOBODY:
            told = f"no leader, epoch {one.epoch}, in sync: {in_sync}"
            yield Bar(lo_s=span[0], hi_s=span[1], state=State.LEADERLESS, label="none", told=told)
        else:
            told = f"leader {one.leader}, epoch {one.epoch}, in sync: {in_sync}; told by broker {one.broker}"
            yield Bar(
                lo_s=span[0], hi_s=span[1], state=State.LEADER, label=str(one.leader), told=told, broker=one.leader
            )
        if not one.is_full:
            gone = ", ".join(str(b) for b in one.replicas if b not in one.isr)
            yield Bar(lo_s=span[0], hi_s=span[1], state=State.SHRUNK, told=f"not in sync: {gone}", row=1)


def _interruptions(history: History, partition: TopicPartition, axis: Axis) -> Iterator[Bar]:
    offered = history.sends(partition)["invoked_ns"].drop_nulls().sort()
    if offered.is_empty():
        return
    first_ns, last_ns = int(offered[0]), int(offered[-1])
    if not clock_doubts(history, "produce"):
        acked_ns = of_producers(history, partition)["hi_ns"]
        yield from _gaps(acked_ns, (first_ns, last_ns), axis, State.SILENT)
    if not clock_doubts(history, "consume"):
        for group in groups(history):
            if group.topic == partition.topic:
                read_ns = of_group(history, group, partition)["hi_ns"]
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
