"""Where one anomaly makes several checks fail: which of them names the cause.

In: a History and the checks that failed on it. Out: of each that says nothing but what another one explains, that other
one's word. Pure. A failure stays a failure; one that has anomalies of its own besides is no consequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from chaoskafka.checks import Check
from chaoskafka.checks.all_delivered import undelivered
from chaoskafka.checks.clients_alive import HUNG, failures_of
from chaoskafka.checks.new_leader import NewLeader, sights_of
from chaoskafka.checks.no_lost_acknowledged import absent
from chaoskafka.checks.offsets_agree import disputed
from chaoskafka.checks.progress import unserved
from chaoskafka.checks.unavailable import Unavailable
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import IDENTITY, delivered_to, groups, in_place, loaded
from chaoskafka.timing.failover import failover

PRODUCERS = "producers"  # all of them together, as `progress` names them


@dataclass(frozen=True, slots=True)
class Rule:
    """`explains(history, effect, cause)`: whether the cause explains every anomaly of the effect."""

    effect: str
    cause: str
    explains: Callable[[History, Check, Check], bool]


def causes(history: History, failing: Sequence[tuple[str, Check]]) -> list[str | None]:
    """For each failing check the word of the one that explains it; None: it stands for itself."""
    return [next(_explaining(history, word, check, failing), None) for word, check in failing]


def _explaining(history: History, word: str, check: Check, failing: Sequence[tuple[str, Check]]) -> Iterator[str]:
    for rule in RULES:
        for other, cause in failing:
            if (rule.effect, rule.cause) == (word, other) and rule.explains(history, check, cause):
                yield other


def _lost_is_there(history: History, _: Check, __: Check) -> bool:
    """Each lost message is in a log after all: broken, at the offset that was acknowledged, or in a wrong place."""
    strays = [_strays(history, partition) for partition in history.partitions]
    for partition in loaded(history):
        lost, _expired = absent(history, partition)
        torn = history.records(partition).filter(pl.col("state") == PayloadState.TORN)
        index = history.header.topic(partition.topic).index
        unbroken = lost.join(torn, on="offset", how="anti")
        here = pl.concat(strays).filter(sent_topic=index, sent_partition=partition.partition)
        if not unbroken.join(here, on=IDENTITY, how="anti").is_empty():
            return False
    return True


def _strays(history: History, partition: TopicPartition) -> pl.DataFrame:
    ours = pl.col("state") == PayloadState.OURS
    return history.records(partition).filter(ours & ~in_place(history, partition))


def _disputed_is_lost(history: History, _: Check, __: Check) -> bool:
    """Each name that the log does not hold at a disputed offset belongs to a lost message."""
    for partition in loaded(history):
        ousted = disputed(history, partition)
        if not ousted.is_empty():
            ousted = ousted.filter(~pl.col("by").list.contains("audit"))
            if not ousted.join(absent(history, partition)[0], on=IDENTITY, how="anti").is_empty():
                return False
    return True


def _undelivered_is_unserved(history: History, _: Check, __: Check) -> bool:
    """Each record that a group missed lies behind all that it was given, in a partition where it was given no more."""
    idle = unserved(history)
    for group in groups(history):
        for partition in [partition for partition in loaded(history) if partition.topic == group.topic]:
            missed = undelivered(history, group, partition)["offset"]
            if missed.is_empty():
                continue
            given = delivered_to(group, history.reads(partition))["offset"]
            skipped = not given.is_empty() and int(missed.min()) < int(given.max())  # type: ignore[arg-type]
            if skipped or (f"group {group.name}", str(partition)) not in idle:
                return False
    return True


def _hung_is_unserved(history: History, _: Check, __: Check) -> bool:
    """The only failure of each client is that it had messages left at its end, all for partitions that took none."""
    idle = {partition for client, partition in unserved(history) if client == PRODUCERS}
    for report, found in failures_of(history):
        if not found:
            continue
        if report.role != "produce" or not report.closed or [row["what"] for row in found] != [HUNG]:
            return False
        left = {str(p) for p in history.partitions if _has_left(history, p, report.worker)}
        if not left or not left <= idle:
            return False
    return True


def _has_left(history: History, partition: TopicPartition, producer: int) -> bool:
    unanswered = (pl.col("outcome") == Outcome.INDETERMINATE) & (pl.col("producer") == producer)
    return not history.sends(partition).filter(unanswered).is_empty()


def _gap_is_unserved(history: History, effect: Check, _: Check) -> bool:
    """Each gap that is too long is open, and its client was never served again."""
    assert isinstance(effect, Unavailable)
    idle = unserved(history)
    return all(
        gap.open and (gap.client if gap.client.startswith("group ") else PRODUCERS, f"{p.topic}/{p.partition}") in idle
        for fault in failover(history)
        for p in fault.partitions
        for gap in p.unavailable
        if effect.is_too_long(gap)
    )


def _gap_is_leaderless(history: History, effect: Check, cause: Check) -> bool:
    """Each gap that is too long would be within the limit without the time until a new leader, which came too late, was
    known everywhere: until then partitions with other leaders wait too, for the dead replica to leave their ISR."""
    assert isinstance(effect, Unavailable)
    assert isinstance(cause, NewLeader)
    late_s: dict[int, float] = {}
    for sight in sights_of(history):
        if cause.is_late(sight):
            late_s[sight.fault] = max(sight.seen.hi_s, late_s.get(sight.fault, 0.0))
    return all(
        gap.length.lo_s - late_s.get(fault.index, 0.0) <= effect.at_most_s
        for fault in failover(history)
        for p in fault.partitions
        for gap in p.unavailable
        if effect.is_too_long(gap)
    )


RULES = (
    Rule("no_lost_acknowledged", "no_unexpected", _lost_is_there),
    Rule("offsets_agree", "no_lost_acknowledged", _disputed_is_lost),
    Rule("all_delivered", "progress", _undelivered_is_unserved),
    Rule("clients_alive", "progress", _hung_is_unserved),
    Rule("unavailable", "progress", _gap_is_unserved),
    Rule("unavailable", "new_leader", _gap_is_leaderless),
)
"""Which check owns an anomaly that two of them see; docs/checks.md has the table."""
