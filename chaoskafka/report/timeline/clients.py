"""Groups and single clients: when they lived, when a group was without its partitions, and their errors.

In: a History and an Axis. Out: a Section. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from chaoskafka.history.doubt import clock_doubts
from chaoskafka.history.events import Event
from chaoskafka.history.read import History
from chaoskafka.history.tape import Change
from chaoskafka.history.views import Group, groups
from chaoskafka.report.timeline.axis import Axis
from chaoskafka.report.timeline.model import Bar, Lane, Mark, Section, State

LANES_MAX = 40  # clients beyond these only repeat what the others show
_DRAIN = 10  # the number of the phase that ends the load
MARKS_MAX = 60  # errors of one client: more melt into each other


def client_section(history: History, axis: Axis) -> Section:
    doubts = [doubt for word in ("produce", "consume") for doubt in clock_doubts(history, word)]
    strange = {doubt.where for doubt in doubts}
    lanes = [_group(history, group, axis) for group in groups(history)] if not clock_doubts(history, "consume") else []
    workers = sorted({(e.fields["worker"], e.fields["incarnation"]) for e in _events(history)})
    lanes += [_worker(history, who, axis, strange=strange) for who in workers[:LANES_MAX]]
    notes = [f"{len(workers) - LANES_MAX} more clients are not drawn"] if len(workers) > LANES_MAX else []
    if doubts:
        notes.append("clients on another clock show only what the harness saw of them")
    shown = tuple(lane for lane in lanes if lane.bars or lane.marks)
    return Section(name="clients", lanes=shown, note="; ".join(notes) or None)


def _events(history: History) -> Iterator[Event]:
    for event in history.events:
        if event.event == "worker" and {"worker", "incarnation", "state"} <= event.fields.keys():
            yield event


def _worker(history: History, who: tuple[int, int], axis: Axis, *, strange: set[str]) -> Lane:
    worker, incarnation = who
    role = next((work.word for work in history.header.workloads if worker in work.workers), "worker")
    name = f"{role} {worker}" + (f".{incarnation}" if incarnation else "")
    own = [e for e in _events(history) if (e.fields["worker"], e.fields["incarnation"]) == who]
    started_ns = next((e.at_ns for e in own if e.fields["state"] == "started"), None)
    ended = next((e for e in own if e.fields["state"] == "exited"), None)
    span = axis.between(started_ns, ended.at_ns if ended else None)
    bars = []
    if span is not None:
        bars.append(Bar(lo_s=span[0], hi_s=span[1], state=State.ALIVE, told=f"{name}: {_end_of(ended)}"))
    marks: tuple[Mark, ...] = ()
    if f"worker {worker}.{incarnation}" not in strange:
        errors = history.client_errors.filter(worker=worker, incarnation=incarnation).drop_nulls("at_ns")
        rows = errors.sort("at_ns").head(MARKS_MAX).select("at_ns", "code", "fatal").rows()
        marks = tuple(
            Mark(at_s=axis.at_s(at_ns), state=State.ERROR, told=f"{'fatal ' if fatal else ''}client error {code}")
            for at_ns, code, fatal in rows
            if axis.has(at_ns)
        )
    return Lane(name=name, bars=tuple(bars), marks=marks)


def _end_of(ended: Event | None) -> str:
    if ended is None:
        return "its end was not seen"
    signal, code = ended.fields.get("signal"), ended.fields.get("code")
    return f"ended by signal {signal}" if signal is not None else f"ended with exit code {code}"


def _group(history: History, group: Group, axis: Axis) -> Lane:
    """Served while every partition of its topic has an owner; what it lacks of that is rebalancing."""
    wanted = {partition.partition for partition in history.partitions if partition.topic == group.topic}
    owned: set[int] = set()
    bars = []
    last_ns, last_state = None, State.REBALANCING
    moves = history.assignments.filter(pl.col("consumer").is_in(list(group.members)) & (pl.col("topic") == group.topic))
    rows = moves.drop_nulls().sort("at_ns", maintain_order=True).select("at_ns", "change", "partition").rows()
    stopped_ns = _load_end_ns(history)
    for at_ns, change, partition in rows:
        if stopped_ns is not None and at_ns > stopped_ns:
            break  # members that leave at the end are no rebalancing
        owned = owned | {partition} if change == Change.ASSIGNED else owned - {partition}
        state = State.ALIVE if owned >= wanted else State.REBALANCING
        if state is not last_state:
            bars += _bar(axis, last_ns, at_ns, last_state)
            last_ns, last_state = at_ns, state
        elif last_ns is None:
            last_ns = at_ns
    if last_ns is not None:
        bars += _bar(axis, last_ns, stopped_ns, last_state)
    return Lane(name=f"group {group.name}", bars=tuple(bars))


def _load_end_ns(history: History) -> int | None:
    """When the load was told to end; None: it never was."""
    return next(
        (
            event.at_ns
            for event in history.events
            if event.event == "phase" and event.fields.get("number") == _DRAIN and event.fields["state"] == "begin"
        ),
        None,
    )


def _bar(axis: Axis, lo_ns: int | None, hi_ns: int | None, state: State) -> list[Bar]:
    span = axis.between(lo_ns, hi_ns) if lo_ns is not None else None
    if span is None:
        return []
    told = "each partition has an owner" if state is State.ALIVE else "some partition has no owner"
    return [Bar(lo_s=span[0], hi_s=span[1], state=state, told=f"{told} for {span[1] - span[0]:.2f} s")]
