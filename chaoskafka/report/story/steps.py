"""A Life told in the order in which it happened.

In: a Life, the History around it, an Axis. Out: Steps. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from chaoskafka.clock import NS_PER_MS, NS_PER_S
from chaoskafka.history.events import FaultWindow
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.read import History
from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import groups
from chaoskafka.report.leaders import NOBODY, Told
from chaoskafka.report.story.life import Life
from chaoskafka.report.story.logs import Truncation
from chaoskafka.report.story.model import Step
from chaoskafka.report.timeline.axis import Axis
from chaoskafka.report.timeline.faults import target_of

FAULTS_AROUND_NS = 120 * NS_PER_S  # a fault that acted longer ago, and was healed, has no part in it


def steps_of(history: History, life: Life, axis: Axis, truncations: Sequence[Truncation]) -> tuple[Step, ...]:
    timed = [*_sent(life, axis), *_changed(life, axis), *_read(history, life, axis), *_faults(history, life, axis)]
    timed += [
        Step(
            at_s=axis.at_s(one.at_ns),
            what="truncated",
            told=f"node {one.node} cut its copy of the log: {one.text}",
        )
        for one in truncations
    ]
    return (*sorted(timed, key=lambda step: step.at_s or 0.0), *_now(life, truncations))


def _sent(life: Life, axis: Axis) -> Iterator[Step]:
    send = life.send
    if send is None:
        yield Step(at_s=None, what="sent", told="no tape tells that this message was ever sent")
        return
    if send["invoked_ns"] is not None:
        told = f"producer {life.message.producer} handed it to its client, for {life.message.partition}"
        yield Step(at_s=axis.at_s(send["invoked_ns"]), what="sent", told=told)
    outcome, done_ns = send["outcome"], send["completed_ns"]
    if done_ns is None:
        return
    if outcome == Outcome.ACKNOWLEDGED:
        yield Step(
            at_s=axis.at_s(done_ns),
            lo_s=axis.at_s(min(done_ns, send["invoked_ns"] + (send["latency_ns"] or 0))),
            what="acknowledged",
            told=_acknowledged(send, life.leader),
        )
    else:
        word = "refused" if outcome == Outcome.REJECTED else "of unknown outcome"
        yield Step(at_s=axis.at_s(done_ns), what=word, told=f"the client reported error code {send['code']}")


def _acknowledged(send: dict[str, Any], leader: Told | None) -> str:
    at = f"at offset {send['offset']}" if send["offset"] is not None else "without an offset"
    took_ms = (send["completed_ns"] - send["invoked_ns"]) / NS_PER_MS
    then = "who led then was not seen"
    if leader is not None:
        then = f"last told of was leader {_named(leader.leader)} in epoch {leader.epoch}"
        then += f", in sync {_listed(leader.isr)}"
    return f"{at}, {took_ms:.1f} ms after sending; {then}"


def _changed(life: Life, axis: Axis) -> Iterator[Step]:
    before = life.leader
    for said in life.changes:
        told = f"leader {_named(said.leader)} in epoch {said.epoch}, in sync {_listed(said.isr)}"
        what = "in-sync replicas"
        if before is None or (said.leader, said.epoch) != (before.leader, before.epoch):
            what = "leadership"
            if before is not None and said.leader not in (NOBODY, *before.isr):
                told += f"; it was not among those in sync before ({_listed(before.isr)})"
        yield Step(
            at_s=axis.at_s(said.hi_ns),
            lo_s=axis.at_s(said.lo_ns),
            what=what,
            told=f"{told}, as {said.teller} told",
        )
        before = said


def _read(history: History, life: Life, axis: Axis) -> Iterator[Step]:
    for read in life.reads:
        group = next((g.name for g in groups(history) if read["consumer"] in g.members), "?")
        epoch = f", leader epoch {read['leader_epoch']}" if read["leader_epoch"] is not None else ""
        told = f"to consumer {read['consumer']} of group {group} from offset {read['offset']}{epoch}"
        yield Step(at_s=axis.at_s(read["read_ns"]), what="delivered", told=told)


def _faults(history: History, life: Life, axis: Axis) -> Iterator[Step]:
    """What was done to the cluster about then."""
    instants = [life.send["invoked_ns"], life.send["completed_ns"]] if life.send else []
    known = [at_ns for at_ns in instants if at_ns is not None]
    for fault in history.faults:
        if fault.acted_ns is None or (known and not _is_around(fault, fault.acted_ns, min(known), max(known))):
            continue
        what = f"fault {fault.index}: {fault.word} of {target_of(fault)}"
        yield Step(at_s=axis.at_s(fault.acted_ns), what="fault", told=f"{what} acts")
        if fault.healed_ns is not None:
            yield Step(at_s=axis.at_s(fault.healed_ns), what="fault", told=f"{what} is healed")


def _is_around(fault: FaultWindow, acted_ns: int, first_ns: int, last_ns: int) -> bool:
    ends_ns = fault.healed_ns if fault.healed_ns is not None else acted_ns
    return acted_ns - FAULTS_AROUND_NS <= last_ns and ends_ns + FAULTS_AROUND_NS >= first_ns


def _now(life: Life, truncations: Sequence[Truncation]) -> Iterator[Step]:
    """What the audit found."""
    if life.end is None:
        yield Step(at_s=None, what="now", told="the audit did not read this partition to its settled end")
    for copy in life.copies:
        yield Step(at_s=None, what="now", told=f"it stands at offset {copy['offset']}{_batch(copy)}")
    for other, offset in life.strays:
        yield Step(at_s=None, what="now", told=f"it stands in {other} at offset {offset}, where it was not sent")
    if life.copies or life.end is None:
        return
    if not life.strays:
        yield Step(at_s=None, what="now", told="it stands nowhere in the log")
    acked_at = life.send["offset"] if life.send else None
    if acked_at is not None:
        yield Step(at_s=None, what="now", told=f"at offset {acked_at}: {_instead(life, acked_at)}")
    if not truncations:
        told = "no log line of a node was found that tells of a truncation of this partition"
        yield Step(at_s=None, what="unseen", told=told)


def _instead(life: Life, offset: int) -> str:
    found = life.instead
    if found is None:
        beyond = life.end is not None and offset >= life.end
        return f"nothing; the log ends before offset {life.end}" if beyond else "nothing; there is a hole in the log"
    if found["state"] == PayloadState.TORN:
        return f"a record whose payload is broken{_batch(found)}"
    if found["state"] != PayloadState.OURS:
        return f"a record that is not of this run{_batch(found)}"
    name = f"{found['producer']}.{found['incarnation']}:{found['sequence']}"
    return f"message {name}{_batch(found)}"


def _batch(record: dict[str, Any]) -> str:
    if record.get("leader_epoch") is None:
        return ""
    sent_as = ""
    if (record.get("producer_id") or -1) >= 0:
        number = record["base_sequence"] + record["offset"] - record["base_offset"]
        sent_as = f", producer id {record['producer_id']} epoch {record['producer_epoch']} sequence {number}"
    return f", written in leader epoch {record['leader_epoch']}{sent_as}"


def _named(leader: int) -> str:
    return "nobody" if leader == NOBODY else str(leader)


def _listed(brokers: Sequence[int]) -> str:
    return f"[{', '.join(map(str, brokers))}]"
