"""Words of the doctor: an examination is a row with a function, a finding is what it found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from chaoskafka.errors import HarnessError

if TYPE_CHECKING:  # whoever examines Python's packages cannot need them
    from chaoskafka.runtimes.docker.bed import Bed
    from chaoskafka.runtimes.process.bed import Bed as ProcessBed


class State(StrEnum):
    """ok; warning: a docker run can work, with less; missing: none can. Rows on processes are never missing."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"


@dataclass(slots=True, kw_only=True)
class Visit:
    """One call of the doctor. What examinations make is entered on `life`, and removed with it."""

    run_id: str
    out: Path  # where run directories would go
    life: ExitStack
    capabilities: Sequence[str] = ("NET_ADMIN",)  # of the container that changes another's network
    made: Bed | None = None
    processes: ProcessBed | None = None
    facts: dict[str, object] = field(default_factory=dict)  # what a container sees of its machine

    @property
    def bed(self) -> Bed:
        if self.made is None:
            raise HarnessError("an examination was done before the one that finds the engine")
        return self.made


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What an examination saw. `mend`: the command that mends it, where it is not ok."""

    text: str
    state: State = State.OK
    mend: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """One thing that is done for real. `act` raises ChaosKafkaError when it does not work."""

    word: str
    does: str  # what is done: for the documentation
    act: Callable[[Visit], Seen]
    mend: str  # the command that mends it, when neither `act` nor its error knows a better one
    otherwise: State = State.MISSING  # what it is when `act` raises
    means: str = "no docker run can work"  # when it is not ok
    after: tuple[str, ...] = ()  # examinations that it needs: those not ok, it is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came of one examination."""

    word: str
    state: State
    text: str
    means: str = ""
    mend: str | None = None
