"""A control: a run in which something must go wrong, so that a harness that notices nothing is noticed itself.

In: what a scenario writes. Out: which checks have to fail, and what must have come about for that. `controls.py` judges
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Given(StrEnum):
    """What a control's recipe needs to come about."""

    FAULT = "fault"
    LEADER_CHANGED = "leader_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeast:
    """How much a check must find. There is no most: how much is lost depends on the machine."""

    at_least: int = 1  # anomalies

    def __post_init__(self) -> None:
        if self.at_least < 1:
            raise ValueError(f"at_least: {self.at_least} is below 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Passes only if just these checks fail, each with so much found, once what it takes for that came about."""

    fails: Mapping[str, AtLeast]  # word of a check: {at_least: N}
    given: Given = Given.FAULT  # fault: it bit and healed; leader_changed: and a partition of who was hit moved too

    def __post_init__(self) -> None:
        if not self.fails:
            raise ValueError("fails: no check; at least one has to fail in a control")
