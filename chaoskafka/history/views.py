"""Views of a History's tables that several checks and the timing share.

In: a History and one of its partitions. Out: Polars frames of one kind of row each. Pure; reads files, writes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from chaoskafka.history.events import Event, FaultWindow
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.kept import once
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.tape import Outcome

IDENTITY = ("producer", "incarnation", "sequence")
"""Names one message within the tables of one partition."""

INCARNATION = ("producer", "incarnation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A consumer group that the run hosted, on one topic. `members` are worker ids."""

    name: str
    topic: str
    members: tuple[int, ...]
    reset: str | None  # its auto.offset.reset, where it was set


def loaded(history: History) -> list[TopicPartition]:
    """The partitions of interest: those of every topic that a workload of the run produced to."""
    topics = {work.topic for work in history.header.workloads if work.word == "produce"}
    return [partition for partition in history.partitions if partition.topic in topics]


def groups(history: History) -> list[Group]:
    """Every group of the run; two workloads of one group on one topic are one."""
    found: dict[tuple[str, str], Group] = {}
    for work in history.header.workloads:
        if work.word != "consume" or work.group is None:
            continue
        known = found.get((work.group, work.topic))
        found[work.group, work.topic] = Group(
            name=work.group,
            topic=work.topic,
            members=(*(known.members if known else ()), *work.workers),
            reset=work.settings.get("auto.offset.reset"),
        )
    return list(found.values())


def workers_of(history: History, word: str) -> list[int]:
    """The ids of all workers that workloads of this word had."""
    return sorted({worker for work in history.header.workloads if work.word == word for worker in work.workers})


def silent_workers(history: History, word: str) -> list[int]:
    """The ids of workers that left no report at all, and so no tape."""
    reported = {report.worker for report in history.workers if report.role == word}
    return [worker for worker in workers_of(history, word) if worker not in reported]


@once
def holes(history: History, partition: TopicPartition) -> pl.DataFrame:
    """The producer incarnations whose sends to this partition are not numbered densely from 0."""
    tapes = history.sends(partition).group_by(INCARNATION).agg(pl.len(), pl.col("sequence").max().alias("last"))
    return tapes.filter(pl.col("len") != pl.col("last") + 1).sort(INCARNATION)


@once
def torn_tapes(history: History) -> pl.DataFrame:
    """The producer incarnations whose tape does not tell everything that they sent."""
    torn = [
        {"producer": report.worker, "incarnation": report.incarnation}
        for report in history.workers
        if report.role == "produce" and not report.tape_whole
    ]
    reported = pl.DataFrame(torn, schema=dict.fromkeys(INCARNATION, pl.UInt16))
    found = [holes(history, partition).select(INCARNATION) for partition in loaded(history)]
    return pl.concat([reported, *found]).unique()


@once
def acknowledged(history: History, partition: TopicPartition) -> pl.DataFrame:
    """The sends that the client was told are stored."""
    return history.sends(partition).filter(pl.col("outcome") == Outcome.ACKNOWLEDGED)


def in_place(history: History, partition: TopicPartition) -> pl.Expr:
    """Whether a row's payload is ours, whole, and says that it was sent to this very partition.

    The place is null unless the payload is ours, and a null place is in nobody's place.
    """
    place = (pl.col("sent_topic") == history.header.topic(partition.topic).index) & (
        pl.col("sent_partition") == partition.partition
    )
    return ((pl.col("state") == PayloadState.OURS) & place).fill_null(value=False)


def repeated(columns: Sequence[str]) -> pl.Expr:
    """Whether a row equals the row before it in these columns; null equals null. For frames sorted by them: there it
    finds all repetitions at a fraction of what grouping costs."""
    return pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in columns) & (
        pl.int_range(pl.len()) > 0
    )


def in_order(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Sorted, equals as they stood. Tables mostly are sorted already: seeing that takes a fraction of sorting again."""
    if any(rows[name].has_nulls() for name in by):
        return rows.sort(*by, maintain_order=True)
    descends, level = pl.lit(value=False), pl.lit(value=True)
    for name in by:
        before = pl.col(name).shift(1)
        descends |= level & (pl.col(name) < before)
        level &= pl.col(name) == before
    is_sorted = not rows.select(descends.any()).item()
    return rows if is_sorted else rows.sort(*by, maintain_order=True)


def parted(rows: pl.DataFrame, *by: str) -> dict[tuple[Any, ...], pl.DataFrame]:
    """Rows by what stands in these columns. Mostly it is the same in all of them, and nothing has to be copied."""
    same = pl.all_horizontal((pl.col(name) == pl.col(name).first()).all(ignore_nulls=False) for name in by)
    if rows.is_empty() or not rows.select(same).item():
        return rows.partition_by(by, as_dict=True)
    return {rows.select(by).row(0): rows}


def delivered_to(group: Group, reads: pl.DataFrame) -> pl.DataFrame:
    """The reads of a group's members."""
    return reads.filter(pl.col("consumer").is_in(list(group.members)))


def in_batches(records: pl.DataFrame, batches: pl.DataFrame) -> pl.DataFrame:
    """Records with what their batch says: leader epoch, producer id and epoch, base sequence, transactional, control.

    A record whose batch is not in the table keeps nulls.
    """
    return records.join(batches.drop("count", "last_offset", "max_timestamp_ms"), on="base_offset", how="left")


def acted(history: History) -> list[FaultWindow]:
    """The faults whose deed was done and seen, in the order of the plan."""
    return [fault for fault in history.faults if fault.acted_ns is not None and fault.proof]


def rivals(history: History, fault: FaultWindow) -> list[FaultWindow]:
    """The other faults that were in force while this one was: what is seen then may be the doing of either."""
    return [other for other in acted(history) if other.index != fault.index and _overlap(other, fault)]


def _overlap(one: FaultWindow, other: FaultWindow) -> bool:
    """Whether neither was healed before the other's deed."""
    assert one.acted_ns is not None
    assert other.acted_ns is not None
    return (one.healed_ns is None or one.healed_ns >= other.acted_ns) and (
        other.healed_ns is None or other.healed_ns >= one.acted_ns
    )


def recovery(history: History) -> Event | None:
    """The event that says whether the cluster became whole again; None when the run never got there."""
    return next((event for event in reversed(history.events) if event.event == "recovered"), None)
