"""Results of runs of which only the times matter, and the run directories that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from chaoskafka.history.header import RunHeader
from chaoskafka.report.result import CheckResult, Result
from chaoskafka.timing.times import FaultTimes, Interval, PhaseTime
from chaoskafka.verdict import Answer
from tests.histories.builder import build
from tests.histories.shape import Shape

Times = Sequence[PhaseTime]


def step(
    phase: str,
    took: tuple[float, float] | None,
    *,
    fault: int | None = 0,
    subject: str = "orders/0",
    bound: tuple[float, float] | None = None,
) -> PhaseTime:
    return PhaseTime(
        fault=fault,
        scope="partition",
        subject=subject,
        phase=phase,
        since="deed",
        until="a new leader is written",
        took=Interval(lo_s=took[0], hi_s=took[1]) if took else None,
        at=None,
        bound=Interval(lo_s=bound[0], hi_s=bound[1]) if bound else None,
        note=None if took else "nobody looked",
    )


def result_of(number: int, phases: Times, *, scenario: str = "killed", faults: Sequence[str] = ("kill",)) -> Result:
    bit = CheckResult(
        word="took_effect", parameters={}, answer=Answer.PASS, summary="", counted=1, found=0, evidence=()
    )
    return Result(
        judged_by="0.1.0",
        run_id=f"20260101t000000-{number:06x}",
        scenario=scenario,
        title="",
        question="",
        seed=number,
        replay="",
        started_at=None,
        duration_s=None,
        runtime="docker",
        clients="client_container",
        versions={"kafka": "4.2.2"},
        answer=Answer.FAIL,
        checks=(bit,),
        faults=tuple(
            FaultTimes(index=i, word=word, targets=(1,), window_s=1.0, partitions=()) for i, word in enumerate(faults)
        ),
        troubles=(),
        phases=tuple(phases),
    )


@cache
def _header() -> RunHeader:
    with TemporaryDirectory() as run_dir:
        build(Path(run_dir), Shape())
        return RunHeader.load(Path(run_dir))


def keep(into: Path, result: Result) -> Path:
    """Writes what is read of a run: its header and its result."""
    run_dir = into / result.run_id
    run_dir.mkdir(parents=True)
    replace(_header(), run_id=result.run_id).save(run_dir)
    result.save(run_dir)
    return run_dir
