"""What the controllers wrote into the metadata log, when, and when it was committed and applied.

In: the observer's lines. Out: rows in the order of the log, each with the span in which it was written; what was cut
off again is left out. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from chaoskafka.clock import NS_PER_MS
from chaoskafka.history.doubt import observer_clock_doubts
from chaoskafka.history.kept import once
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.timing.on_disk import differences, lines_on_disk
from chaoskafka.timing.spans import Span

LINGER = "controller.quorum.append.linger.ms"
NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One record. `written`: the controller decided it after lo_ns and no later than hi_ns."""

    written: Span
    offset: int
    last_offset: int  # of its batch, which is applied as a whole


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRow(Row):
    """A partition from then on."""

    leader: int
    epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]

    @property
    def is_full(self) -> bool:
        return set(self.isr) >= set(self.replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRow(Row):
    """A registration from then on."""

    fenced: bool
    stopping: bool

    @property
    def is_out(self) -> bool:
        """Not to lead anything: fenced, or about to end."""
        return self.fenced or self.stopping


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderRow(Row):
    """A controller became the active one."""

    controller: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """All of it. Empty where nobody read it."""

    partitions: dict[TopicPartition, list[PartitionRow]] = field(default_factory=dict)
    brokers: dict[int, list[BrokerRow]] = field(default_factory=dict)
    leaders: list[LeaderRow] = field(default_factory=list)
    committed: dict[int, Span] = field(default_factory=dict)  # by the last offset of a batch
    applied: dict[int, list[tuple[int, Span]]] = field(default_factory=dict)  # per broker, by applied offset
    read_to_ns: int = 0  # until when it surely was read

    @property
    def was_read(self) -> bool:
        return bool(self.leaders)

    def applied_by(self, broker: int, offset: int) -> Span | None:
        """When a broker had applied the log up to `offset`; None: that was not seen."""
        return next((span for reached, span in self.applied.get(broker, ()) if reached >= offset), None)

    def controller_before(self, at_ns: int) -> int | None:
        """Who was the active controller at that time; None: nobody knows."""
        before = [row.controller for row in self.leaders if row.written.hi_ns <= at_ns]
        return before[-1] if before else None


@once
def log_of(history: History) -> Log:
    """Empty where nobody read it, or on another clock than the events'."""
    seen = history.observations
    kept = read_live(history)
    if not kept:
        return Log()
    linger_ns = linger_ms(history) * NS_PER_MS
    on_disk = lines_on_disk(history)
    if differences(records_of(kept), on_disk):
        kept = _joined(kept, on_disk)
    found = Log(read_to_ns=max((row["hi_ns"] for row in records_of(kept)), default=0), applied=_applied(seen))
    for row in kept:
        _take(found, row, linger_ns)
    return found


@once
def read_live(history: History) -> list[dict[str, Any]]:
    """The observer's lines of the log, without what was cut off again; none where its clock is not the events'."""
    rows = history.observations.filter(pl.col("kind").str.starts_with("log_"))
    if rows.is_empty() or observer_clock_doubts(history):
        return []
    return _uncut(rows.to_dicts())


def records_of(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The lines that are records, not what became of them."""
    return [line for line in lines if line["kind"] != "log_committed"]


@once
def log_troubles(history: History) -> list[str]:
    """Where the log on the controllers' disks says something else than what was read of it live; the former is used."""
    found = differences(records_of(read_live(history)), lines_on_disk(history))
    if not found:
        return []
    what = "the metadata log on disk says something else than what was read of it live, and is used"
    return [f"{what}: at {len(found)} offsets; {found[0]}"]


def linger_ms(history: History) -> int:
    """By how much a batch's timestamp may be early (docs/timing.md, detect); the largest of all nodes."""
    told = [of[LINGER] for of in history.header.broker_settings.values() if LINGER in of]
    return max(map(int, told), default=0) + 1 if told else 0


def last_before(rows: Sequence[PartitionRow], at_ns: int) -> PartitionRow | None:
    """What stood at that time."""
    before = [row for row in rows if row.written.hi_ns <= at_ns]
    return before[-1] if before else None


def _uncut(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the records that an earlier leader wrote and the next one did not have."""
    kept: list[dict[str, Any]] = []
    for row in rows:
        if row["kind"] == "log_cut":
            kept = [
                other
                for other in kept
                if other["kind"] == "log_committed"
                or other["offset"] < row["offset"]
                or other["quorum_epoch"] >= row["quorum_epoch"]
            ]
        elif row["kind"] != "log_skipped":
            kept.append(row)
    return kept


def _joined(live: list[dict[str, Any]], on_disk: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is on disk; of what was read live, only what it does not reach.

    A node's disk may begin late or end early. Beyond its end an older leader's records were cut off, unseen.
    """
    first, last = on_disk[0]["offset"], on_disk[-1]
    records = records_of(live)
    before = [dict(row) for row in records if row["offset"] < first]
    beyond = [
        dict(row) for row in records if row["offset"] > last["offset"] and row["quorum_epoch"] >= last["quorum_epoch"]
    ]
    committed = [row for row in live if row["kind"] == "log_committed"]
    return [*before, *map(dict, on_disk), *beyond, *committed]


def _take(log: Log, row: dict[str, Any], linger_ns: int) -> None:
    kind, arrived = row["kind"], Span(row["lo_ns"], row["hi_ns"])
    if kind == "log_committed":
        log.committed[row["last_offset"]] = arrived
        return
    # A record may be stamped early, by as long as its batch was open, and never late.
    stamped = min(arrived.hi_ns, arrived.lo_ns + linger_ns) if linger_ns else arrived.hi_ns
    common: dict[str, Any] = {
        "written": Span(arrived.lo_ns, stamped),
        "offset": row["offset"],
        "last_offset": row["last_offset"],
    }
    if kind == "log_partition":
        partition = TopicPartition(row["topic"], row["partition"])
        known = {"leader": row["leader"], "epoch": row["epoch"], "isr": tuple(row["isr"])}
        made = PartitionRow(**common, **known, replicas=tuple(row["replicas"]))
        log.partitions.setdefault(partition, []).append(made)
    elif kind == "log_broker":
        broker = BrokerRow(**common, fenced=row["fenced"], stopping=row["stopping"])
        log.brokers.setdefault(row["broker"], []).append(broker)
    elif kind == "log_leader":
        log.leaders.append(LeaderRow(**common, controller=row["controller"]))


def _applied(seen: pl.DataFrame) -> dict[int, list[tuple[int, Span]]]:
    told = seen.filter(pl.col("kind") == "epoch").select("broker", "offset", "lo_ns", "hi_ns").drop_nulls()
    found: dict[int, list[tuple[int, Span]]] = {}
    for broker, offset, lo_ns, hi_ns in told.rows():
        found.setdefault(broker, []).append((offset, Span(lo_ns, hi_ns)))
    return found
