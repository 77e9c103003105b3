"""What several runs say of each step of a failover: one sample for each fault, under the name `SCENARIO/WORD.STEP`.

In: results. Out: metrics, by name. Pure. A step has many subjects (partitions, brokers, clients); a fault's sample is
the slowest of them, since the fault is over for nobody before it is for the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chaoskafka.report.result import Result
from chaoskafka.timing.times import Interval, PhaseTime
from chaoskafka.verdict import Answer

OUTSIDE = "outside"  # in place of a fault's word: what nobody was playing


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One fault's: it took longer than `lo_s` and no longer than `hi_s`."""

    lo_s: float
    hi_s: float
    bound: Interval | None  # what the effective settings of that run imply
    subject: str
    run_id: str

    @property
    def middle_s(self) -> float:
        """The figure that statistics are made of."""
        return (self.lo_s + self.hi_s) / 2

    @property
    def stands(self) -> Answer:
        """Whether it lies in its bound; without one, and where the interval reaches over an edge, it is unknown."""
        if self.bound is None:
            return Answer.UNKNOWN
        if self.lo_s > self.bound.hi_s or self.hi_s < self.bound.lo_s:
            return Answer.FAIL
        return Answer.PASS if self.bound.lo_s <= self.lo_s and self.hi_s <= self.bound.hi_s else Answer.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """`unseen`: faults in which the step was looked for and could not be seen of all whom it was about."""

    name: str
    samples: tuple[Sample, ...]
    unseen: int

    @property
    def scenario(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def of_fault(self) -> str:
        """`WORD.STEP`."""
        return self.name.rpartition("/")[2]

    @property
    def step(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def values_s(self) -> list[float]:
        return [sample.middle_s for sample in self.samples]


def metrics(results: Iterable[Result]) -> Mapping[str, Metric]:
    """In the order in which runs first name them."""
    found: dict[str, list[Sample | None]] = {}
    for result in results:
        words = {fault.index: fault.word for fault in result.faults}
        for (fault, step), times in _by_fault(result.phases).items():
            word = OUTSIDE if fault is None else words.get(fault, OUTSIDE)
            found.setdefault(f"{result.scenario}/{word}.{step}", []).append(_slowest(times, result.run_id))
    return {name: _metric(name, samples) for name, samples in found.items()}


def _metric(name: str, samples: Sequence[Sample | None]) -> Metric:
    seen = tuple(sample for sample in samples if sample is not None)
    return Metric(name=name, samples=seen, unseen=len(samples) - len(seen))


def _by_fault(steps: Iterable[PhaseTime]) -> Mapping[tuple[int | None, str], list[PhaseTime]]:
    found: dict[tuple[int | None, str], list[PhaseTime]] = {}
    for step in steps:
        found.setdefault((step.fault, step.phase), []).append(step)
    return found


def _slowest(steps: Iterable[PhaseTime], run_id: str) -> Sample | None:
    """None when it was not seen of one of them: that one may have been the slowest."""
    every = list(steps)
    seen = [(step.took, step) for step in every if step.took is not None]
    if len(seen) < len(every):
        return None
    took, step = max(seen, key=lambda pair: (pair[0].hi_s, pair[0].lo_s))
    return Sample(
        lo_s=took.lo_s,
        hi_s=took.hi_s,
        bound=step.bound,
        subject=step.subject,
        run_id=run_id,
    )
