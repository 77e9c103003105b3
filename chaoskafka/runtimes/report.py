"""What a sweep tells of dead runs: what was taken back, what was removed, and who was left alone."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    """A run that was not touched, and why."""

    run_id: str
    why: str


@dataclass(slots=True, kw_only=True)
class SweepReport:
    """What was done, by run: deeds that were taken back, names of removed objects; the runs that were left alone."""

    undone: dict[str, list[str]] = field(default_factory=dict)
    removed: dict[str, list[str]] = field(default_factory=dict)
    left_alone: tuple[LeftAlone, ...] = ()
