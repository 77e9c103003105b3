"""The values of a timeline. Every instant is in seconds on one axis, whose zero `Timeline.zero` names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How things stood while a bar lasts. The values name colours and are words for people."""

    PHASE = "phase"
    FAULT = "fault"
    HEALING = "healing"
    MOVING = "moving"  # leadership moved on purpose
    WAITING = "waiting"  # the plan waits for a condition
    LEADER = "leader"  # which one: the bar's broker
    LEADERLESS = "no leader"
    SHRUNK = "not all in sync"
    SILENT = "no acknowledgement"
    STARVED = "no delivery"
    UP = "up"
    DOWN = "no answer"
    FROZEN = "frozen"
    CUT_OFF = "cut off"
    FENCED = "fenced"
    BEHIND = "behind"
    ALIVE = "alive"
    REBALANCING = "rebalancing"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A state that lasted. `row` 0 is the lane itself, 1 to 3 are thin strips beneath it."""

    lo_s: float
    hi_s: float
    state: State
    told: str  # what it is, in words
    label: str = ""  # what may stand in the bar itself
    broker: int | None = None  # whose colour
    row: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that took no time."""

    at_s: float
    state: State
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One thing over time. `rows`: how many strips it has beneath it."""

    name: str
    bars: tuple[Bar, ...] = ()
    marks: tuple[Mark, ...] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Lanes of one kind. `note`: what is missing, and why."""

    name: str
    lanes: tuple[Lane, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a chart: a value for the middle of each bin; None: nothing to tell then."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Lines over the whole axis, in bins of `bin_s`. `is_log`: its values span magnitudes."""

    name: str
    unit: str
    bin_s: float
    lines: tuple[Line, ...]
    is_log: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All of it. An axis without length is never made."""

    begin_s: float
    end_s: float
    zero: str
    sections: tuple[Section, ...]
    charts: tuple[Chart, ...]
    brokers: tuple[int, ...]  # those that have colours, in their order

    @property
    def length_s(self) -> float:
        return self.end_s - self.begin_s
