"""The plan of one run: a pure function of the scenario and the seed. In: both. Out: the steps that the nemesis plays.

Everything that is left to chance in a run takes it from a step's own `seed`, so that one step's choices do not depend
on how many choices the steps before it made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from chaoskafka.faults import Fault
from chaoskafka.scenario.bind import plain
from chaoskafka.scenario.model import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """Step `index` of a plan. `seed` is the source of every choice in it: who "any" is, how long "random" lasts."""

    index: int
    after_s: float
    word: str
    fault: Fault
    seed: int


def plan(scenario: Scenario, seed: int) -> tuple[PlannedStep, ...]:
    """The steps to play; the same for the same scenario and seed, on every machine and in every version of Python."""
    return tuple(
        PlannedStep(index=i, after_s=step.after_s, word=step.word, fault=step.fault, seed=_seed_of(seed, i))
        for i, step in enumerate(scenario.plan)
    )


def plan_facts(steps: Sequence[PlannedStep]) -> tuple[Mapping[str, Any], ...]:
    """The steps as `run.json` holds them: `after_s`, `word`, and the fault's own parameters."""
    return tuple({"after_s": step.after_s, "word": step.word, **plain(step.fault)} for step in steps)


def _seed_of(seed: int, index: int) -> int:
    """Not `hash()`, which differs from process to process for text."""
    return int.from_bytes(blake2b(f"{seed}:{index}".encode(), digest_size=8).digest(), "little")
