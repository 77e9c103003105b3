"""One lane per node: up, frozen, cut off, fenced, behind; and who was the active controller.

In: a History and an Axis. Out: a Section. Pure. What the observer cannot see, as it is let through every cut, is taken
from the fault windows: a node that a cut hit is cut off while the cut is in force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import observer_clock_doubts
from chaoskafka.history.read import History
from chaoskafka.report.timeline.axis import Axis
from chaoskafka.report.timeline.model import Bar, Lane, Section, State

NODES_MAX = 40  # lanes
BEHIND_MIN_NS = NS_PER_S  # metadata is polled a few times a second, one broker after the other: less is only that
_BY_FAULT: Mapping[str, State] = {
    "pause": State.FROZEN,
    "isolate": State.CUT_OFF,
    "partition": State.CUT_OFF,
    "cut_clients": State.CUT_OFF,
}
_GRAVEST_FIRST = (State.FROZEN, State.DOWN, State.CUT_OFF, State.FENCED, State.BEHIND, State.UP)


@dataclass(frozen=True, slots=True)
class _Stretch:
    state: State
    lo_ns: int
    hi_ns: int | None  # None: to the end


def broker_section(history: History, axis: Axis) -> Section:
    nodes = sorted(map(int, history.header.nodes))
    seen = not observer_clock_doubts(history)
    behind = _behind(history) if seen else {}
    lanes = [_controller(history, axis)] if seen else []
    for node in nodes[:NODES_MAX]:
        stretches = [*_observed(history, node), *behind.get(node, [])] if seen else []
        stretches += _inflicted(history, node)
        lanes.append(Lane(name=f"node {node}", bars=tuple(_bars(stretches, axis))))
    note = None if seen else "no observer on the clock of the events: only what faults did to them is known"
    return Section(name="nodes", lanes=tuple(lane for lane in lanes if lane.bars), note=note)


def _rows(history: History, kind: str) -> list[dict[str, Any]]:
    return history.observations.filter(pl.col("kind") == kind).sort("hi_ns", maintain_order=True).to_dicts()


def _observed(history: History, node: int) -> Iterator[_Stretch]:
    answered = [(row["hi_ns"], row["up"]) for row in _rows(history, "reachable") if row["broker"] == node]
    for state, begin_ns, end_ns in _stretches([(at_ns, up) for at_ns, up in answered if up is not None]):
        yield _Stretch(State.UP if state else State.DOWN, begin_ns, end_ns)
    for state, begin_ns, end_ns in _stretches(_fenced(history, node)):
        if state:
            yield _Stretch(State.FENCED, begin_ns, end_ns)


def _fenced(history: History, node: int) -> list[tuple[int, bool]]:
    """What most of those who told of this node had said last: a broker that comes back has old news of itself."""
    said: dict[int, bool] = {}
    found = []
    for row in _rows(history, "fenced"):
        if row["broker"] == node and row["by"] is not None and row["fenced"] is not None:
            said[row["by"]] = row["fenced"]
            found.append((row["hi_ns"], 2 * sum(said.values()) > len(said)))
    return found


def _stretches(said: Sequence[tuple[int, bool]]) -> Iterator[tuple[bool, int, int | None]]:
    """Each value with its begin and end; the last one lasts."""
    changes = [one for i, one in enumerate(said) if i == 0 or one[1] != said[i - 1][1]]
    for i, (at_ns, value) in enumerate(changes):
        yield value, at_ns, changes[i + 1][0] if i + 1 < len(changes) else None


def _inflicted(history: History, node: int) -> Iterator[_Stretch]:
    for fault in history.faults:
        if fault.word in _BY_FAULT and node in fault.targets and fault.acted_ns is not None:
            yield _Stretch(_BY_FAULT[fault.word], fault.acted_ns, fault.healing_ns or fault.healed_ns)


def _behind(history: History) -> dict[int, list[_Stretch]]:
    """While a broker's applied metadata was older than another's, for longer than polling explains."""
    applied: dict[int, int] = {}
    since_ns: dict[int, int] = {}
    found: dict[int, list[_Stretch]] = {}
    for row in _rows(history, "epoch"):
        if row["broker"] is None or row["offset"] is None:
            continue
        applied[row["broker"]] = row["offset"]
        newest = max(applied.values())
        for broker, offset in applied.items():
            if offset < newest:
                since_ns.setdefault(broker, row["hi_ns"])
            elif broker in since_ns:
                begun_ns = since_ns.pop(broker)
                if row["hi_ns"] - begun_ns >= BEHIND_MIN_NS:
                    found.setdefault(broker, []).append(_Stretch(State.BEHIND, begun_ns, row["hi_ns"]))
    for broker, begun_ns in since_ns.items():
        found.setdefault(broker, []).append(_Stretch(State.BEHIND, begun_ns, None))
    return found


def _bars(stretches: Sequence[_Stretch], axis: Axis) -> Iterator[Bar]:
    """One bar after the other: where several states hold at once, the gravest is told."""
    spans = [(one.state, span) for one in stretches if (span := axis.between(one.lo_ns, one.hi_ns))]
    edges = sorted({edge for _, span in spans for edge in span})
    last: Bar | None = None
    for lo_s, hi_s in pairwise(edges):
        holding = {state for state, span in spans if span[0] <= lo_s and span[1] >= hi_s}
        state = next((state for state in _GRAVEST_FIRST if state in holding), None)
        if last is not None and (state is not last.state or last.hi_s != lo_s):
            yield last
            last = None
        if state is not None:
            begins_s = lo_s if last is None else last.lo_s
            last = Bar(lo_s=begins_s, hi_s=hi_s, state=state, label=state, told=f"{state} for {hi_s - begins_s:.2f} s")
    if last is not None:
        yield last


def _controller(history: History, axis: Axis) -> Lane:
    """Whom most brokers named last."""
    said: dict[int, int] = {}
    changes: list[tuple[int, int]] = []
    for row in _rows(history, "controller"):
        if row["broker"] is None or row["controller"] is None:
            continue
        said[row["broker"]] = row["controller"]
        named = Counter(said.values()).most_common(1)[0][0]
        if not changes or changes[-1][1] != named:
            changes.append((row["hi_ns"], named))
    bars = []
    for i, (at_ns, named) in enumerate(changes):
        if span := axis.between(at_ns, changes[i + 1][0] if i + 1 < len(changes) else None):
            known = named >= 0
            bars.append(
                Bar(
                    lo_s=span[0],
                    hi_s=span[1],
                    state=State.LEADER if known else State.LEADERLESS,
                    label=str(named) if known else "none",
                    told=f"active controller: {named}" if known else "no active controller",
                    broker=named if known else None,
                )
            )
    return Lane(name="controller", bars=tuple(bars))
