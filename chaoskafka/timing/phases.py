"""`phases(history)`: each failover step by step, per partition, broker and client, with the bound that is implied.

In: a History. Out: `PhaseTime`s in the order in which things happen; what could not be seen is there with no time and
the reason. Pure. Decisions come from the metadata log, what brokers knew from their own answers, what clients got done
from their tapes (`failover`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import clock_doubts
from chaoskafka.history.events import FaultWindow
from chaoskafka.history.kept import once
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import acted, groups, recovery, rivals
from chaoskafka.timing import bounds
from chaoskafka.timing.bounds import Bound, Hit, Timers
from chaoskafka.timing.failover import failover
from chaoskafka.timing.leadership import live_brokers
from chaoskafka.timing.spans import Span, Stalls, after, deed_of, next_deed_ns
from chaoskafka.timing.times import FaultTimes, Interval, PartitionTimes, PhaseTime
from chaoskafka.timing.written import NOBODY, BrokerRow, LeaderRow, Log, PartitionRow, last_before, log_of

ROWS_MAX = 20_000  # of one run: some hundred failovers of fifty partitions; reports must stay readable by machines

NOT_READ = "nobody read the metadata log"
NOT_SEEN = "it was not seen"
FULL_BEFORE = "all replicas were in sync before the healing began, and stayed so"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One fault, with what its phases are computed from."""

    history: History
    fault: FaultWindow
    times: FaultTimes
    log: Log
    hit: Hit
    timers: Timers
    deed: Span
    until_ns: int | None  # the deed of what comes next
    stalls: Stalls

    def span(self, instant: Span) -> Interval:
        """Seconds after the deed."""
        return after(instant, self.deed, self.stalls)

    def is_within(self, written: Span) -> bool:
        """Whether something came after the deed, and before whatever came next."""
        return written.hi_ns > self.deed.lo_ns and (self.until_ns is None or written.hi_ns <= self.until_ns)


@once
def phases(history: History) -> tuple[PhaseTime, ...]:
    """Of every fault that was seen to bite; at most ROWS_MAX."""
    return tuple(row for times in failover(history) for row in _of_fault(history, times))[:ROWS_MAX]


def scene_of(history: History, times: FaultTimes) -> Scene | None:
    """None: the fault was not seen to bite."""
    fault = next((fault for fault in acted(history) if fault.index == times.index), None)
    if fault is None or fault.acted_ns is None:
        return None
    others = rivals(history, fault)
    apart = [other for other in acted(history) if other not in others]
    log = log_of(history)
    deed = deed_of(fault)
    active = fault.evidence.get("active_controller")  # as the brokers said right before the deed
    if active is None:
        active = log.controller_before(deed.lo_ns)
    hit = bounds.hit_of(history.header, fault, active=active, alone=not others)
    settings = {key: value for work in history.header.workloads for key, value in work.settings.items()}
    return Scene(
        history=history,
        fault=fault,
        times=times,
        log=log,
        hit=hit,
        timers=Timers(history.header.broker_settings, settings, history.header.versions.get("kafka", "")),
        deed=deed,
        until_ns=next_deed_ns(history, fault, apart),
        stalls=Stalls.of(history),
    )


def _of_fault(history: History, times: FaultTimes) -> Iterator[PhaseTime]:
    scene = scene_of(history, times)
    if scene is None:
        return
    yield _inject(scene)
    if scene.hit.hits_active:
        yield _controller(scene)
    for broker in sorted(scene.hit.brokers):
        if bounds.may_elect(scene.hit):
            yield _detect(scene, broker)
    for partition in times.partitions:
        yield from _of_partition(scene, partition)
    yield from _rebalanced(scene)


def _row(scene: Scene, scope: str, subject: str, phase: str, since: str, until: str, **more: Any) -> PhaseTime:
    common = {"took": None, "at": None, **more}
    return PhaseTime(
        fault=scene.times.index, scope=scope, subject=subject, phase=phase, since=since, until=until, **common
    )  # fmt: skip


def _bounded(bound: Bound) -> dict[str, Any]:
    return {"bound": bound.whole, "dominated_by": bound.dominated_by}


def _decided(scene: Scene, named: tuple[str, str, str, str], written: Span | None, bound: Bound) -> PhaseTime:
    """From the deed to what the controllers wrote because of it; None: that was not seen, or nobody read their log.

    `named`: scope, subject, phase, and what was written.
    """
    scope, subject, phase, until = named
    told: dict[str, Any] = {"note": NOT_SEEN if scene.log.was_read else NOT_READ}
    if written is not None:
        at = scene.span(written)
        told = {"took": at, "at": at, "note": bound.why}
    return _row(scene, scope, subject, phase, "deed", until, **told, **_bounded(bound))


def _inject(scene: Scene) -> PhaseTime:
    """A stop bites when the controllers grant it, whatever else the end of the process takes."""
    assert scene.fault.active_ns is not None
    granted = [put_out(scene, broker) for broker in scene.hit.brokers] if scene.fault.word in bounds.STOPS else []
    spans = [row.written for row in granted if row is not None and row.stopping]
    if granted and len(spans) == len(granted):
        seen = scene.span(Span(max(span.lo_ns for span in spans), max(span.hi_ns for span in spans)))
    else:
        # A command is waited for to its end; its deed is known no sooner than brokers say so.
        seen_ns = scene.deed.hi_ns if scene.fault.word == "command" else scene.fault.active_ns
        seen = Interval(lo_s=0.0, hi_s=max(0, seen_ns - scene.deed.lo_ns) / NS_PER_S)
    return _row(scene, "fault", f"fault {scene.times.index}", "inject", "deed", "seen to bite", took=seen, at=seen)


def _controller(scene: Scene) -> PhaseTime:
    bound = bounds.controller(scene.hit, scene.timers)
    new = new_controller(scene)
    subject = "quorum" if new is None else f"controller {new.controller}"
    written = None if new is None else new.written
    return _decided(scene, ("quorum", subject, "controller", "a new controller is active"), written, bound)


def new_controller(scene: Scene) -> LeaderRow | None:
    """The first other one that became active after the deed."""
    rows = (row for row in scene.log.leaders if scene.is_within(row.written) and row.controller != scene.hit.active)
    return next(rows, None)


def _detect(scene: Scene, broker: int) -> PhaseTime:
    bound = bounds.detection(scene.hit, scene.timers)
    row = put_out(scene, broker)
    written = None if row is None else row.written
    return _decided(scene, ("broker", f"broker {broker}", "detect", "the controller puts it out"), written, bound)


def put_out(scene: Scene, broker: int) -> BrokerRow | None:
    """The record by which a broker was fenced, or granted its controlled shutdown."""
    was_out = False
    for row in scene.log.brokers.get(broker, ()):
        if row.is_out and not was_out and scene.is_within(row.written):
            return row
        was_out = row.is_out
    return None


def _of_partition(scene: Scene, times: PartitionTimes) -> Iterator[PhaseTime]:
    partition = TopicPartition(times.topic, times.partition)
    rows = scene.log.partitions.get(partition, [])
    old = last_before(rows, scene.deed.lo_ns)
    later = [row for row in rows if scene.is_within(row.written)]
    elected = election(old, later)
    led = times.old_leader if old is None else old.leader
    if elected is not None or (bounds.may_elect(scene.hit) and led in scene.hit.brokers):
        written = None if elected is None else elected.written
        bound = bounds.detection(scene.hit, scene.timers)
        yield _decided(scene, ("partition", str(partition), "elect", "a new leader is written"), written, bound)
    if elected is not None:
        yield from _since_elected(scene, times, elected)
    yield from _in_sync(scene, partition, old, later)
    yield from _home(scene, partition, later)
    for gap in times.unavailable:
        note = "no success came after it" if gap.open else None
        named = ("client", f"{partition}, {gap.client}", "unavailable", "last success", "next success")
        starts = gap.starts_s
        at = Interval(lo_s=starts + gap.length.lo_s, hi_s=starts + gap.length.hi_s)
        yield _row(scene, *named, took=gap.length, at=at, resolution_s=gap.resolution_s, note=note)


def election(old: PartitionRow | None, later: list[PartitionRow]) -> PartitionRow | None:
    """The first record by which another leads than before. A moment without a leader is none."""
    if old is None:
        return None
    return next((row for row in later if row.epoch > old.epoch and row.leader not in (NOBODY, old.leader)), None)


def _since_elected(scene: Scene, times: PartitionTimes, row: PartitionRow) -> Iterator[PhaseTime]:
    """What follows an election: committed, applied by every broker, used by every client."""
    partition, at = f"{times.topic}/{times.partition}", scene.span(row.written)

    def since_elected(
        scope: str, subject: str, phase: str, until: str, reached: Span | None, bound: Bound
    ) -> PhaseTime:
        named = (scope, subject, phase, "elect", until)
        if reached is None:
            return _row(scene, *named, note=NOT_SEEN, **_bounded(bound))
        took = after(reached, row.written, scene.stalls)
        return _row(scene, *named, took=took, at=scene.span(reached), **_bounded(bound))

    spread = bounds.propagation(scene.timers)
    committed = scene.log.committed.get(row.last_offset)
    yield since_elected("partition", partition, "commit", "below the high watermark", committed, spread)
    for broker in live_brokers(scene.history, scene.fault, rivals(scene.history, scene.fault)):
        applied = scene.log.applied_by(broker, row.last_offset)
        subject = f"{partition}, broker {broker}"
        yield since_elected("broker", subject, "propagate", "the broker has applied it", applied, spread)
    for sight in (*times.first_ack, *times.first_read):
        reached = Span(
            scene.deed.hi_ns + int(sight.first.lo_s * NS_PER_S), scene.deed.lo_ns + int(sight.first.hi_s * NS_PER_S)
        )
        until = "first read in its epoch" if sight.client.startswith("group") else "first acknowledgement in its epoch"
        subject = f"{partition}, {sight.client}"
        waits = bounds.redirection(scene.hit, scene.timers, at)
        yield since_elected("client", subject, "redirect", until, reached, waits)


def _in_sync(
    scene: Scene, partition: TopicPartition, old: PartitionRow | None, later: list[PartitionRow]
) -> Iterator[PhaseTime]:
    """That the in-sync set shrank, and that it was full again."""
    if old is None or not old.is_full:
        return
    whole = recovery(scene.history)  # brokers that are stopped at the end leave the set too
    until_ns = float("inf") if whole is None else whole.at_ns
    lacking = [row for row in later if not row.is_full and row.written.hi_ns <= until_ns]
    bound = bounds.shrink(scene.hit, scene.timers)
    if not lacking:
        if bound.whole is not None and scene.hit.brokers & set(old.replicas):
            named = ("partition", str(partition), "shrink", "deed", "a replica is dropped")
            yield _row(scene, *named, note=NOT_SEEN, **_bounded(bound))
        return
    at = scene.span(lacking[0].written)
    named = ("partition", str(partition), "shrink", "deed", "a replica is dropped")
    yield _row(scene, *named, took=at, at=at, **_bounded(bound))
    full = next((row for row in later if row.offset > lacking[-1].offset and row.is_full), None)
    named = ("partition", str(partition), "in_sync", "healing begins", "all replicas are in sync")
    healing_ns = scene.fault.healing_ns
    if full is None or healing_ns is None:
        yield _row(scene, *named, note=NOT_SEEN)
        return
    if full.written.hi_ns <= healing_ns:  # between two deaths of a crash loop, say
        yield _row(scene, *named, note=FULL_BEFORE)
        return
    took = after(full.written, Span(healing_ns, healing_ns), scene.stalls)
    yield _row(scene, *named, took=took, at=scene.span(full.written))


def _home(scene: Scene, partition: TopicPartition, later: list[PartitionRow]) -> Iterator[PhaseTime]:
    """That the preferred replica leads again; without a step that asks for it nobody waits for that."""
    was_away = False
    for row in later:
        if row.leader == row.replicas[0] and was_away:
            at = scene.span(row.written)
            named = ("partition", str(partition), "home", "deed", "the preferred replica leads")
            yield _row(scene, *named, took=at, at=at)
            return
        was_away = was_away or row.leader != row.replicas[0]


def _rebalanced(scene: Scene) -> Iterator[PhaseTime]:
    """The last change of assignments that the fault brought about, per group; none where no member was moved."""
    if clock_doubts(scene.history, "consume"):
        return
    until_ns = scene.until_ns
    for group in groups(scene.history):
        changes = scene.history.assignments.filter(
            pl.col("consumer").is_in(list(group.members)) & (pl.col("at_ns") > scene.deed.hi_ns)
        )
        if scene.fault.healed_ns is not None:  # at the end members leave, one after the other
            changes = changes.filter(pl.col("at_ns") <= scene.fault.healed_ns)
        if until_ns is not None:
            changes = changes.filter(pl.col("at_ns") < until_ns)
        last_ns = changes["at_ns"].max()
        if isinstance(last_ns, int):
            at = scene.span(Span(last_ns, last_ns))
            named = ("group", f"group {group.name}", "rebalanced", "deed", "its assignment stands")
            yield _row(scene, *named, took=at, at=at)
