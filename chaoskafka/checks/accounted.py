"""`accounted`: every message offered to a producer has exactly one fate, and the worker and its tape agree on it.

In: the workers' closing reports and the tapes' sends. Out: a verdict. What does not add up is an error of the harness,
not of Kafka, and makes every other answer worthless.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import polars as pl

from chaoskafka.history.doubt import Doubt, Reason, tape_doubts, tell
from chaoskafka.history.read import History
from chaoskafka.history.tables import WorkerReport
from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import INCARNATION
from chaoskafka.verdict import Evidence, Verdict

_FATES = {Outcome.REJECTED: "refused", Outcome.ACKNOWLEDGED: "acknowledged", Outcome.INDETERMINATE: "indeterminate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounted:
    """Each producer's counts close, and its tape holds exactly the messages that it counted."""

    def check(self, history: History) -> Verdict:
        reports = [report for report in history.workers if report.role == "produce"]
        taped = _taped(history)
        gaps: list[Evidence] = []
        for report in reports:
            if report.closed:
                gaps += _own_gaps(report)
                # A torn tape shows fewer messages than there were; that is its own doubt, not a wrong count.
                gaps += _tape_gaps(report, taped) if report.tape_whole else []
        counted = sum(report.offered for report in reports)
        if gaps:
            return Verdict.failed(f"{len(gaps)} counts do not close", counted=counted, found=len(gaps), evidence=gaps)
        unclosed = [
            Doubt(Reason.TAPE_MISSING, _name(report), "it left no closing report, so nothing can be compared")
            for report in reports
            if not report.closed
        ]
        torn = [*tape_doubts(history, "produce"), *tape_doubts(history, "consume")]
        if doubts := [*unclosed, *torn]:
            return Verdict.unknown(tell(doubts), counted=counted, evidence=[doubt.evidence for doubt in doubts])
        return Verdict.passed(f"{counted} offered messages are all accounted for", counted=counted)


def _taped(history: History) -> Counter[tuple[int, int, str]]:
    """How many messages of each fate each incarnation's tape holds, over all partitions."""
    counts: Counter[tuple[int, int, str]] = Counter()
    for partition in history.partitions:
        fates = history.sends(partition).group_by(*INCARNATION, "outcome").agg(pl.len())
        for producer, incarnation, outcome, count in fates.iter_rows():
            counts[producer, incarnation, _FATES.get(outcome, f"outcome {outcome}")] += count
    return counts


def _own_gaps(report: WorkerReport) -> list[Evidence]:
    equations = {
        "offered = refused + accepted": (report.offered, report.refused + report.accepted),
        "accepted = acknowledged + indeterminate": (report.accepted, report.acknowledged + report.indeterminate),
    }
    return [
        {"worker": _name(report), "equation": equation, "left": left, "right": right}
        for equation, (left, right) in equations.items()
        if left != right
    ]


def _tape_gaps(report: WorkerReport, taped: Counter[tuple[int, int, str]]) -> list[Evidence]:
    said = {
        "refused": report.refused,
        "acknowledged": report.acknowledged,
        "indeterminate": report.indeterminate,
    }
    who = (report.worker, report.incarnation)
    others = {fate for (*other, fate) in taped if tuple(other) == who} - set(said)
    return [
        {"worker": _name(report), "equation": f"{fate}, counted = on tape", "left": count, "right": taped[(*who, fate)]}
        for fate, count in (said | dict.fromkeys(others, 0)).items()
        if count != taped[(*who, fate)]
    ]


def _name(report: WorkerReport) -> str:
    return f"worker {report.worker}.{report.incarnation}"
