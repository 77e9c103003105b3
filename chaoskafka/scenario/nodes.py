"""The words by which a plan puts faults together, each with its keys. Nodes of the plan, not faults.

In: nothing. Out: one class per word; `steps.py` reads what stands below them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from chaoskafka.cluster.targets import Target

TIMES_MAX = 1000  # rounds of anything: as many as a list may have items


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Play `steps` in order, and all of them again, so many `times`."""

    times: int  # rounds
    steps: tuple[Any, ...]  # as in a plan

    def __post_init__(self) -> None:
        _check_times(self.times)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """Play `steps` one after the other, as a plan does: one branch of `together`."""

    steps: tuple[Any, ...]  # as in a plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Let all `steps` strike within one instant; each heals when its own time is up.

    None strikes before every target is known and every undo is on disk. Nothing inside waits for a whole cluster.
    """

    steps: tuple[Any, ...]  # faults, or sequences whose first fault strikes with the others


@dataclass(frozen=True, slots=True, kw_only=True)
class Flap:
    """Play one fault, written beside the keys, again and again: `down_s` in force, `up_s` not, so many `times`."""

    times: int  # how often it strikes
    down_s: float  # how long the fault is in force each time, in place of its own for_s
    up_s: float  # from its healing to the next time; nobody waits for a whole cluster in between

    def __post_init__(self) -> None:
        _check_times(self.times)
        if self.down_s <= 0:
            raise ValueError(f"down_s: {self.down_s} is not above 0")
        if self.up_s < 0:
            raise ValueError(f"up_s: {self.up_s} is below 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Random:
    """Play `times` faults, each drawn from `faults` and aimed at one of `targets`, drawn from the run's seed.

    The draws are made when the plan is, so they are in its header. One that finds no target when its time has come is
    skipped, told, and leaves the run unknown.
    """

    times: int  # faults to play; each comes `after_s` of steady load
    faults: tuple[Any, ...]  # without a target
    targets: tuple[Target, ...] = ()  # one for each fault that takes one

    def __post_init__(self) -> None:
        _check_times(self.times)
        if not self.faults:
            raise ValueError("faults: no fault to draw; at least one is needed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Have a partition led by a broker that fits, so that the next fault's target exists; one that fits stays."""

    leader_of: str  # TOPIC/P
    on: str  # filters, as in a target: `not active controller`, `broker 2`

    def __post_init__(self) -> None:
        for who in ("leader", "follower"):
            try:
                self.target(who)
            except ValueError as wrong:
                raise ValueError(f"on: {wrong}") from None

    def target(self, who: str) -> Target:
        """The leader, or a follower, of the partition, if it fits."""
        return Target.parse(f"{who} of {self.leader_of}, {self.on}")


Keys = Repeat | Sequence | Together | Flap | Random | Place

NODES: Mapping[str, type[Keys]] = MappingProxyType(
    {
        "repeat": Repeat,
        "sequence": Sequence,
        "together": Together,
        "flap": Flap,
        "random": Random,
        "place": Place,
    }
)
LISTS = ("sequence", "together")
"""These take their steps as a list, without a key."""


def _check_times(times: int) -> None:
    if not 1 <= times <= TIMES_MAX:
        raise ValueError(f"times: {times} is not between 1 and {TIMES_MAX}")
