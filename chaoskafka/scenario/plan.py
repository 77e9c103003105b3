"""The plan of one run: a pure function of the scenario and the seed. In: both. Out: what the nemesis plays.

A tree: its leaves are faults, numbered through in the order of the plan, and those numbers are theirs in events, ledger
and report. Everything that is left to chance in a run takes it from a leaf's own `seed`, so that one fault's choices do
not depend on how many choices those before it made. What a `random` draws is drawn here.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from chaoskafka.cluster.conditions import Condition
from chaoskafka.faults import Fault
from chaoskafka.scenario.bind import plain
from chaoskafka.scenario.model import PlanItem, PlanNode, PlanStep, Scenario
from chaoskafka.scenario.nodes import Flap, Place, Random, Repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """Fault `index` of a plan. `seed` is the source of every choice in it: who "any" is, how long "random" lasts."""

    index: int
    after_s: float
    word: str
    fault: Fault
    seed: int
    until: Condition | None = None  # in place of the fault's for_s
    when: Condition | None = None  # in place of the gate
    no_wait: bool = False  # no gate at all
    may_skip: bool = False  # it was drawn: without a target it is skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGroup:
    """Steps of one node: `together` strikes with all at once, any other plays one after the other."""

    word: str
    steps: tuple[Planned, ...]
    after_s: float = 0.0
    when: Condition | None = None
    no_wait: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPlace:
    """Leadership to be moved before what follows."""

    place: Place
    seed: int
    after_s: float = 0.0
    when: Condition | None = None
    no_wait: bool = False


Planned = PlannedStep | PlannedGroup | PlannedPlace


def plan(scenario: Scenario, seed: int) -> tuple[Planned, ...]:
    """What to play; the same for the same scenario and seed, on every machine and in every version of Python."""
    return tuple(_Drawing(seed).items(scenario.plan))


def leaves(planned: Sequence[Planned]) -> Iterator[PlannedStep]:
    """The faults, by their numbers."""
    for item in planned:
        if isinstance(item, PlannedStep):
            yield item
        elif isinstance(item, PlannedGroup):
            yield from leaves(item.steps)


def plan_facts(planned: Sequence[Planned]) -> tuple[Mapping[str, Any], ...]:
    """The plan as `run.json` holds it: a fault has its number `fault`, a group its `steps`."""
    return tuple(_facts(item) for item in planned)


class _Drawing:
    """Goes through the items in order, numbering faults and nodes."""

    def __init__(self, seed: int) -> None:
        self._seed, self._leaves, self._nodes = seed, 0, 0

    def items(self, items: Sequence[PlanItem]) -> Iterator[Planned]:
        for item in items:
            yield self._leaf(item) if isinstance(item, PlanStep) else self._node(item)

    def _leaf(self, step: PlanStep, **changed: Any) -> PlannedStep:
        index = self._leaves
        self._leaves += 1
        leaf = PlannedStep(
            index=index,
            after_s=step.after_s,
            word=step.word,
            fault=step.fault,
            seed=_seed_of(self._seed, index),
            until=step.until,
            when=step.when,
            no_wait=step.no_wait,
        )
        return replace(leaf, **changed)

    def _node(self, node: PlanNode) -> PlannedGroup | PlannedPlace:
        own = {"after_s": node.after_s, "when": node.when, "no_wait": node.no_wait}
        self._nodes += 1
        chance = _seed_of(self._seed, f"node {self._nodes}")
        match node.keys:
            case Place():
                return PlannedPlace(place=node.keys, seed=chance, **own)  # type: ignore[arg-type]
            case Repeat(times=times):
                return PlannedGroup(
                    word=node.word, steps=tuple(s for _ in range(times) for s in self.items(node.items))
                )
            case Flap(times=times, up_s=up_s):
                (step,) = node.items
                assert isinstance(step, PlanStep)
                again = {"after_s": up_s, "no_wait": True}
                steps = tuple(self._leaf(step, **(again if i else own)) for i in range(times))
                return PlannedGroup(word=node.word, steps=steps)
            case Random(times=times):
                draw = random.Random(chance)  # noqa: S311 - chance, not secrecy
                drawn = [_one_of(node.items, draw) for _ in range(times)]
                return PlannedGroup(
                    word=node.word, steps=tuple(self._leaf(step, may_skip=True, **own) for step in drawn)
                )
        return PlannedGroup(word=node.word, steps=tuple(self.items(node.items)), **own)  # type: ignore[arg-type]


def _one_of(items: Sequence[PlanItem], draw: random.Random) -> PlanStep:
    """First the fault, then its target: a fault is no likelier for having more targets."""
    faults: dict[object, list[PlanStep]] = {}
    for item in items:
        assert isinstance(item, PlanStep)
        faults.setdefault(item.path, []).append(item)
    return draw.choice(draw.choice(list(faults.values())))


def _facts(item: Planned) -> Mapping[str, Any]:
    facts: dict[str, Any] = {"after_s": item.after_s}
    if item.when is not None:
        facts["when"] = item.when.facts
    if item.no_wait:
        facts["no_wait"] = True
    if isinstance(item, PlannedPlace):
        return {**facts, "word": "place", "steps": [], **plain(item.place)}
    if isinstance(item, PlannedGroup):
        return {**facts, "word": item.word, "steps": [_facts(step) for step in item.steps]}
    if item.until is not None:
        facts["until"] = item.until.facts
    return {"fault": item.index, **facts, "word": item.word, **plain(item.fault)}


def _seed_of(seed: int, of: int | str) -> int:
    """Not `hash()`, which differs from process to process for text."""
    return int.from_bytes(blake2b(f"{seed}:{of}".encode(), digest_size=8).digest(), "little")
