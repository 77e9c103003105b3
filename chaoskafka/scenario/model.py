"""A scenario as frozen values. In: what `load` bound and checked. Out: what a run plays and what `run.json` keeps.

Every value is complete: defaults are filled in, words are resolved to the values of their classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from chaoskafka.checks import Check
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.faults import Fault

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
    plan: tuple[PlanStep, ...]
    expect: tuple[Named[Check], ...]  # without `took_effect`, which is judged in every run
    seed: int | None = None  # None: chosen by whoever runs it
    timeout_s: float | None = None  # bounds the whole run; None: each phase's own deadline only
