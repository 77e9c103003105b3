"""`no_election`: no partition's leader epoch moved, where a fault must not cause an election.

In: the controllers' metadata log as the observer read it. Out: a verdict on every partition of every topic, internal
ones too. Only the log can pass: it holds each change, while brokers' answers were looked at now and then. Where nobody
read it, a new epoch that a broker named still fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from chaoskafka.history.doubt import Doubt, Reason, fault_doubts, observer_clock_doubts, tell
from chaoskafka.history.events import FaultWindow
from chaoskafka.history.read import History
from chaoskafka.history.views import acted, recovery
from chaoskafka.timing.leadership import answers
from chaoskafka.timing.spans import deed_of, next_deed_ns
from chaoskafka.timing.written import Log, last_before, log_of
from chaoskafka.verdict import Evidence, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class NoElection:
    """No partition got another leader, nor the same one anew, from a fault's deed to what came next in the plan."""

    def check(self, history: History) -> Verdict:
        log = log_of(history)
        counted = len(log.partitions)
        strange = observer_clock_doubts(history)
        doubts = [*strange, *fault_doubts(history), *_unread(history, log)]
        moved = [] if strange else [row for fault in acted(history) for row in _moved(history, log, fault)]
        if moved:
            first = moved[0]
            to = f"{first['partition']} moved to leader {first['leader']} in epoch {first['epoch']}"
            text = f"{len(moved)} elections: {to}"
            return Verdict.failed(text, counted=max(counted, len(moved)), found=len(moved), evidence=moved)
        if doubts:
            return Verdict.unknown(tell(doubts), counted=counted, evidence=[doubt.evidence for doubt in doubts])
        if not acted(history):
            return Verdict.unknown("no fault was played", counted=counted)
        return Verdict.passed(f"the leader epochs of all {counted} partitions stayed as they were", counted=counted)


def _unread(history: History, log: Log) -> Iterator[Doubt]:
    """What of the log was not read."""
    if not log.was_read:
        yield Doubt(Reason.NOT_OBSERVED, "metadata log", "nobody read it")
        return
    if not history.observations.filter(pl.col("kind") == "log_skipped").is_empty():
        yield Doubt(Reason.NOT_OBSERVED, "metadata log", "its beginning was gone: epochs could not be counted")
    whole = recovery(history)
    for fault in acted(history):
        healed_ns = fault.healed_ns or fault.healing_ns
        end_ns = healed_ns if whole is None else whole.at_ns
        # An election that the heal brings about is one too: the log must reach as far as moves are judged.
        if healed_ns is None or end_ns is None or log.read_to_ns < min(_next_ns(history, fault), end_ns):
            text = "the metadata log was not read until what came next, or until the cluster was whole again"
            yield Doubt(Reason.NOT_OBSERVED, f"fault {fault.index}", text)


def _moved(history: History, log: Log, fault: FaultWindow) -> Iterator[Evidence]:
    """Each move of a leader epoch after the fault's deed and before what came next."""
    since_ns, until_ns = deed_of(fault).lo_ns, _next_ns(history, fault)
    for partition, rows in log.partitions.items():
        before = last_before(rows, since_ns)
        epoch = None if before is None else before.epoch
        for row in rows:
            if since_ns < row.written.hi_ns <= until_ns and epoch is not None and row.epoch > epoch:
                yield _evidence(fault, str(partition), row.leader, row.epoch, row.written.hi_ns)
                epoch = row.epoch
    if not log.was_read:
        for partition in history.partitions:
            said = answers(history, partition)
            known = max((answer.epoch for answer in said if answer.hi_ns <= since_ns), default=None)
            for answer in said:
                if known is not None and since_ns < answer.lo_ns and answer.hi_ns <= until_ns and answer.epoch > known:
                    yield _evidence(fault, str(partition), answer.leader, answer.epoch, answer.hi_ns)
                    known = answer.epoch


def _evidence(fault: FaultWindow, partition: str, leader: int, epoch: int, seen_ns: int) -> Evidence:
    assert fault.acted_ns is not None
    after_s = (seen_ns - fault.acted_ns) / 1e9
    return {"fault": fault.index, "partition": partition, "leader": leader, "epoch": epoch, "after_s": after_s}


def _next_ns(history: History, fault: FaultWindow) -> float:
    """When the plan went on."""
    others = [other for other in acted(history) if other.index != fault.index]
    next_ns = next_deed_ns(history, fault, others)
    return float("inf") if next_ns is None else next_ns
