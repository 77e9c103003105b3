"""Why a history cannot answer: each reason for `unknown` under its own name, with the place it concerns.

In: a History. Out: lists of Doubts, which checks weigh; a proven anomaly beats any doubt. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from chaoskafka.history.events import FaultWindow
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition, WorkerReport
from chaoskafka.history.views import holes, loaded, silent_workers


class Reason(StrEnum):
    """What a history lacks. The values are words for people and appear in evidence."""

    NEVER_LOADED = "never loaded"
    NO_LOAD_IN_WINDOW = "no load in the fault's window"
    FAULT_NOT_PROVEN = "fault not proven"
    NOT_HEALED = "healing not proven"
    NOT_RECOVERED = "not whole again"
    END_NOT_REACHED = "end not reached"
    NOT_SETTLED = "end not settled"
    EXPIRED = "expired below the log start"
    TAPE_MISSING = "tape missing"
    TAPE_TORN = "tape torn"
    TWO_CLOCKS = "two clocks"
    OUR_OWN_FAILURE = "the harness's own failure"
    NOT_OBSERVED = "not observed"
    NOT_COVERED = "not covered"
    IMPRECISE = "limit inside the interval"


@dataclass(frozen=True, slots=True)
class Doubt:
    """One reason why nothing can be said, and about what."""

    reason: Reason
    where: str  # "orders/3", "worker 2", "fault 0"
    why: str

    @property
    def evidence(self) -> dict[str, str]:
        return {"reason": self.reason.value, "where": self.where, "why": self.why}


def tell(doubts: Sequence[Doubt]) -> str:
    """Doubts in one sentence: the first of each reason, and how many there are."""
    counts: dict[Reason, int] = {}
    for doubt in doubts:
        counts[doubt.reason] = counts.get(doubt.reason, 0) + 1
    first = {reason: next(d for d in doubts if d.reason is reason) for reason in counts}
    parts = [
        f"{reason}: {first[reason].where}, {first[reason].why}" + (f" (and {count - 1} more)" if count > 1 else "")
        for reason, count in counts.items()
    ]
    return "; ".join(parts)


def audit_doubts(history: History, partitions: Sequence[TopicPartition]) -> list[Doubt]:
    """The partitions that were not read from their log start to a settled end."""
    found = []
    for partition in partitions:
        end = history.ends.get(partition)
        if end is None:
            found.append(Doubt(Reason.END_NOT_REACHED, str(partition), "the audit never read it"))
        elif not end.settled:
            found.append(Doubt(Reason.NOT_SETTLED, str(partition), end.reason or "its end was still moving"))
        elif not end.whole:
            found.append(Doubt(Reason.END_NOT_REACHED, str(partition), f"read to {end.read_to} of {end.end}"))
    return found


def tape_doubts(history: History, word: str) -> list[Doubt]:
    """The workers of `word` ("produce" or "consume") whose record of their own operations has gaps."""
    missing = [
        Doubt(Reason.TAPE_MISSING, f"worker {worker}", "it left no report") for worker in silent_workers(history, word)
    ]
    torn = [
        Doubt(Reason.TAPE_TORN, _name(report), "its tape is not whole")
        for report in history.workers
        if report.role == word and not report.tape_whole
    ]
    gaps = [gap for partition in loaded(history) for gap in _gaps(history, partition)] if word == "produce" else []
    return [*missing, *torn, *gaps]


def clock_doubts(history: History, word: str) -> list[Doubt]:
    """The workers of `word` whose instants cannot be compared with those of the events."""
    return [
        Doubt(Reason.TWO_CLOCKS, _name(report), f"{report.clock or 'an unknown clock'}, not {history.header.clock}")
        for report in history.workers
        if report.role == word and report.clock != history.header.clock
    ]


def observer_clock_doubts(history: History) -> list[Doubt]:
    """Whether the observer's instants can be compared with those of the events."""
    started = history.observations.filter(pl.col("kind") == "started")
    clocks = started["clock"].unique().to_list()
    if not clocks:
        return [Doubt(Reason.NOT_OBSERVED, "observer", "it never began")]
    if clocks != [history.header.clock]:
        named = ", ".join(str(clock or "an unknown clock") for clock in clocks)
        return [Doubt(Reason.TWO_CLOCKS, "observer", f"{named}, not {history.header.clock}")]
    return []


def fault_doubts(history: History) -> list[Doubt]:
    """The faults of the plan that were never seen to bite."""
    played = {fault.index: fault for fault in history.faults}
    found = []
    for index in range(max(history.header.faults_planned, len(played))):
        fault = played.get(index)
        if fault is None:
            found.append(Doubt(Reason.FAULT_NOT_PROVEN, f"fault {index}", "it was never played"))
        elif fault.acted_ns is None or fault.active_ns is None or not fault.proof:
            found.append(Doubt(Reason.FAULT_NOT_PROVEN, f"fault {index}", fault.failure or "it was not seen to bite"))
    return found


def load_doubts(history: History) -> list[Doubt]:
    """The partitions of interest that were not under load while a fault was in force: there nothing was tried.

    A run without a plan has no window, and is asked for load at any time.
    """
    doubts = fault_doubts(history)
    unproven = {doubt.where for doubt in doubts}
    proven = [fault for fault in history.faults if f"fault {fault.index}" not in unproven]
    strangers = clock_doubts(history, "produce") if proven else []
    for partition in loaded(history):
        invoked = history.sends(partition)["invoked_ns"]
        if invoked.is_empty():
            doubts.append(Doubt(Reason.NEVER_LOADED, str(partition), "no message was ever offered"))
        elif not strangers:
            idle = [fault for fault in proven if not has_load(invoked, fault)]
            doubts += [
                Doubt(Reason.NO_LOAD_IN_WINDOW, str(partition), f"nothing was sent during fault {fault.index}")
                for fault in idle
            ]
    return [*doubts, *strangers]


def has_load(invoked_ns: pl.Series, fault: FaultWindow) -> bool:
    """Whether something was sent while the fault was in force: from the deed until the healing began."""
    assert fault.acted_ns is not None
    ends_ns = fault.healing_ns or fault.healed_ns
    inside = invoked_ns >= fault.acted_ns
    if ends_ns is not None:
        inside &= invoked_ns <= ends_ns
    return bool(inside.any())


def message_doubts(history: History) -> list[Doubt]:
    """What keeps a check of every message from saying pass: gaps in the audit or the tapes, or a fault without load."""
    return [*audit_doubts(history, loaded(history)), *tape_doubts(history, "produce"), *load_doubts(history)]


def _gaps(history: History, partition: TopicPartition) -> list[Doubt]:
    return [
        Doubt(
            Reason.TAPE_TORN,
            f"worker {row['producer']}.{row['incarnation']}",
            f"{partition}: {row['len']} sends on tape, numbered 0 to {row['last']}",
        )
        for row in holes(history, partition).to_dicts()
    ]


def _name(report: WorkerReport) -> str:
    return f"worker {report.worker}.{report.incarnation}"
