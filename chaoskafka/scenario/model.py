"""A scenario as frozen values. In: what `load` bound and checked. Out: what a run plays and what `run.json` keeps.

Every value is complete: defaults are filled in, words are resolved to the values of their classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from chaoskafka.checks import Check
from chaoskafka.cluster.conditions import Condition
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.faults import Fault
from chaoskafka.scenario.control import Control
from chaoskafka.scenario.nodes import Flap, Keys, Random
from chaoskafka.scenario.source import YamlPath

V_co = TypeVar("V_co", covariant=True)

ALWAYS_ON = "took_effect"
"""A fault that was never seen to bite answers no question: this check cannot be left out."""

DEFAULT_EXPECT = (
    "no_lost_acknowledged",
    "no_unexpected",
    "offsets_agree",
    "all_delivered",
    "accounted",
    "clients_alive",
    "progress",
    "recovered",
)
"""What a scenario without `expect` is judged by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Generic[V_co]):
    """A value with the word that a scenario names it by: a workload or a check."""

    word: str
    value: V_co


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """Play `fault` after so many seconds of steady load since the step before it was over."""

    after_s: float
    word: str
    fault: Fault
    until: Condition | None = None  # in place of the fault's for_s
    when: Condition | None = None  # in place of a whole cluster under steady load
    no_wait: bool = False  # neither: a deliberate race
    path: YamlPath = ()  # where its parameters stand


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """Steps put together as `keys` say. What `items` are depends on the word: see `plan.py`."""

    after_s: float
    word: str
    keys: Keys
    items: tuple[PlanItem, ...] = ()
    when: Condition | None = None
    no_wait: bool = False
    path: YamlPath = ()


PlanItem = PlanStep | PlanNode


def steps_of(items: Sequence[PlanItem]) -> Iterator[PlanStep]:
    """Every fault that is written in a plan, once, however often it is played."""
    for item in items:
        if isinstance(item, PlanStep):
            yield item
        else:
            yield from steps_of(item.items)


def nodes_of(items: Sequence[PlanItem]) -> Iterator[PlanNode]:
    """Every node of a plan, outer ones first."""
    for item in items:
        if isinstance(item, PlanNode):
            yield item
            yield from nodes_of(item.items)


def played(items: Sequence[PlanItem]) -> int:
    """How many faults a plan plays in all its rounds."""
    count = 0
    for item in items:
        if isinstance(item, PlanStep):
            count += 1
        elif isinstance(item.keys, Flap | Random):
            count += item.keys.times
        else:
            count += played(item.items) * getattr(item.keys, "times", 1)
    return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One question about one cluster. `question` is the file's first comment, "" when it has none."""

    name: str  # the file's name without its suffix; names the run's directory
    file: str | None
    title: str
    question: str
    cluster: ClusterSpec
    topics: Mapping[str, TopicSpec]
    workloads: tuple[Named[object], ...]
    plan: tuple[PlanItem, ...]
    expect: tuple[Named[Check], ...]  # without `took_effect`, which is judged in every run
    seed: int | None = None  # None: chosen by whoever runs it
    control: Control | None = None  # None: a run like any other, in which nothing may fail
    timeout_s: float | None = None  # bounds the whole run; None: each phase's own deadline only
