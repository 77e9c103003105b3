"""Whether a control failed as it must. In: its run's checks and failover times. Out: one more check. Pure.

A check that had to fail and did is `expected`: it speaks for the harness and no longer against the run. Any other that
fails, and is no consequence of those, fails the control as it would any run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chaoskafka.history.promises import FORBIDDEN
from chaoskafka.report.result import CheckResult
from chaoskafka.scenario.control import Control, Given
from chaoskafka.scenario.model import ALWAYS_ON
from chaoskafka.timing.times import FaultTimes
from chaoskafka.verdict import Answer, Verdict

WORD = "control"
_PRECONDITIONS = (ALWAYS_ON, "completed")


def judge_control(
    control: Control, checks: Sequence[CheckResult], faults: Sequence[FaultTimes]
) -> tuple[list[CheckResult], Verdict]:
    """The checks, those marked that had to fail; and whether all of them did."""
    verdict = _verdict(control, checks, faults)
    if verdict.answer is not Answer.PASS:
        return list(checks), verdict
    named = set(control.fails)
    return [
        replace(check, expected=check.answer is Answer.FAIL and bool(named & {check.word, check.consequence_of}))
        for check in checks
    ], verdict


def _verdict(control: Control, checks: Sequence[CheckResult], faults: Sequence[FaultTimes]) -> Verdict:
    asked = [check for check in checks if check.word in control.fails]
    if missing := next(_missing(control, checks, faults), None):
        return Verdict.unknown(f"what it takes did not come about: {missing}", counted=len(asked))
    short = [check for check in asked if check.answer is not Answer.UNKNOWN and not _enough(control, check)]
    if short:
        told = "; ".join(f"{check.word} found {check.found}, at least {_wanted(control, check)}" for check in short)
        return Verdict.failed(f"it was not noticed: {told}", counted=len(asked), found=len(short))
    if broken := [check.word for check in asked if _breaks_a_promise(check)]:
        text = f"{', '.join(broken)}: something that the settings forbid, so not what this control brings about"
        return Verdict.failed(text, counted=len(asked), found=len(broken))
    if unknown := [check.word for check in asked if check.answer is Answer.UNKNOWN]:
        return Verdict.unknown(f"{', '.join(unknown)}: unknown", counted=len(asked))
    told = "; ".join(f"{check.word} found {check.found}, at least {_wanted(control, check)}" for check in asked)
    return Verdict.passed(f"failed as it must: {told}", counted=len(asked))


def _missing(control: Control, checks: Sequence[CheckResult], faults: Sequence[FaultTimes]) -> Iterator[str]:
    for check in checks:
        if check.word in _PRECONDITIONS and check.answer is not Answer.PASS:
            yield f"{check.word}: {check.summary}"
    moved = (
        partition.new_leader is not None
        for fault in faults
        for partition in fault.partitions
        if partition.old_leader in fault.targets
    )
    if control.given is Given.LEADER_CHANGED and not any(moved):
        yield "no partition of who was hit has a new leader"
    if absent := set(control.fails) - {check.word for check in checks}:
        yield f"{', '.join(sorted(absent))}: not asked"


def _wanted(control: Control, check: CheckResult) -> int:
    return control.fails[check.word].at_least


def _enough(control: Control, check: CheckResult) -> bool:
    return check.answer is Answer.FAIL and check.found >= _wanted(control, check)


def _breaks_a_promise(check: CheckResult) -> bool:
    """Forbidden anomalies are the first of the evidence, so it tells of all of them, however many there are."""
    return check.answer is Answer.FAIL and any(row.get("label") == FORBIDDEN for row in check.evidence)
