"""Whose doing it most likely was, with the reason. A guess from what was recorded, and it says what it rests on.

In: a CheckResult, the evidence of its first anomaly, the message's Life. Out: a Suspect and a sentence. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import Reason
from chaoskafka.history.promises import PERMITTED, label, promises
from chaoskafka.history.read import History
from chaoskafka.history.views import acted, delivered_to, groups
from chaoskafka.report.result import CheckResult, Result
from chaoskafka.report.story.life import Life
from chaoskafka.report.story.model import Suspect
from chaoskafka.timing.spans import Stalls
from chaoskafka.verdict import Answer

Guess = tuple[Suspect, str]
STALLED_TOO_LONG_S = 5.0  # so long a standstill of the machine in all makes timers of Kafka's default settings expire
_PROMISE = {"no_lost_acknowledged": "keeps", "no_duplicates": "once", "ordered": "in_order"}

_BY_REASON: Mapping[str, Guess] = {
    Reason.TAPE_MISSING: (Suspect.HARNESS, "a worker left no record of what it did"),
    Reason.TAPE_TORN: (Suspect.HARNESS, "a worker's record of what it did has gaps"),
    Reason.OUR_OWN_FAILURE: (Suspect.HARNESS, "a process of the harness failed, not the cluster"),
    Reason.TWO_CLOCKS: (Suspect.ENVIRONMENT, "clients stood on another machine, whose clock cannot be compared"),
    Reason.NOT_OBSERVED: (Suspect.ENVIRONMENT, "the observer did not see what the question is about"),
    Reason.IMPRECISE: (Suspect.ENVIRONMENT, "the machine was too slow to measure as finely as the limit asks"),
    Reason.FAULT_NOT_PROVEN: (Suspect.ENVIRONMENT, "the fault was not seen to bite, so nothing was tried"),
    Reason.NOT_HEALED: (Suspect.ENVIRONMENT, "the healing was not seen, so there is no time after it"),
    Reason.NO_LOAD_IN_WINDOW: (Suspect.HARNESS, "no message was sent while the fault was in force"),
    Reason.NEVER_LOADED: (Suspect.HARNESS, "a partition of interest was never sent a message"),
    Reason.END_NOT_REACHED: (Suspect.ENVIRONMENT, "the audit could not read a partition to its end"),
    Reason.NOT_SETTLED: (Suspect.BROKER, "a partition's end was still moving when it was to be read"),
    Reason.NOT_RECOVERED: (Suspect.BROKER, "the cluster was not whole again, so nothing comes after its recovery"),
    Reason.EXPIRED: (Suspect.SETTINGS, "records had expired before they were read: retention is too short"),
    Reason.NOT_COVERED: (Suspect.HARNESS, "what was asked is not covered by this check"),
}

_BY_WORD: Mapping[str, Guess] = {
    "accounted": (Suspect.HARNESS, "a worker's counts differ from its own record"),
    "control": (Suspect.HARNESS, "what a check must notice here was not noticed, or there was less of it than usual"),
    "completed": (Suspect.ENVIRONMENT, "a phase of the run itself did not come to its end"),
    "clients_alive": (Suspect.CLIENT, "a client failed on its own account, by the evidence"),
}


def of_message(history: History, check: str, evidence: Mapping[str, Any], life: Life) -> Guess:
    """Of one message that was lost, stored twice or overtaken, or is not where it belongs."""
    if check in _PROMISE and _is_permitted(history, check, evidence, life):
        return Suspect.SETTINGS, _what_permits(history, check, life)
    if check == "no_lost_acknowledged":
        return _of_loss(history, life)
    if check == "no_duplicates":
        return _of_copy(life)
    if check == "ordered":
        return _of_order(history, evidence, life)
    return _of_delivery(history, evidence, life) if check == "all_delivered" else _of_place(life)


def _of_place(life: Life) -> Guess:
    if life.strays:
        return Suspect.CLIENT, "a client chooses the partition, and brokers store a batch where it is sent"
    return Suspect.BROKER, "what the log holds differs from what the client was told"


def _is_permitted(history: History, check: str, evidence: Mapping[str, Any], life: Life) -> bool:
    if "label" in evidence:
        return str(evidence["label"]) == PERMITTED
    row = pl.DataFrame({"producer": [life.message.producer]}, schema={"producer": pl.UInt16})
    promised = promises(history.header, life.message.partition.topic)
    return str(label(row, promised, _PROMISE[check])["label"].item()) == PERMITTED


def _what_permits(history: History, check: str, life: Life) -> str:
    work = next((one for one in history.header.workloads if life.message.producer in one.workers), None)
    if check == "no_duplicates":
        return "without idempotence (enable.idempotence=false) a client's retry may store a message again"
    if check == "ordered":
        return "without idempotence, and with several requests in flight, a retry may be overtaken"
    if work is not None and work.acks not in ("all", "-1"):
        return f"with acks={work.acks} a leader acknowledges what no follower has yet, and its failover may lose it"
    least = history.header.topic(life.message.partition.topic).min_insync_replicas
    if least < 2:
        return f"with min.insync.replicas={least} a leader acknowledges what nobody else has, once it is in sync alone"
    return "with unclean.leader.election.enable=true a replica may lead that lacks what was acknowledged"


def _of_loss(history: History, life: Life) -> Guess:
    if life.strays:
        other, offset = life.strays[0]
        return Suspect.CLIENT, f"it lies in {other} at offset {offset}: a client chooses the partition"
    if life.send is not None and life.send["offset"] is None:
        return (
            Suspect.CLIENT,
            "the client called it stored without an offset: it took an answer for one that it was not",
        )
    if life.leader is not None and (dark := _lost_power(history, set(life.leader.isr))):
        return Suspect.SETTINGS, f"{dark}: Kafka acknowledges before it flushes, and no setting in force changes that"
    then = f" by leader {life.leader.leader} of epoch {life.leader.epoch}" if life.leader is not None else ""
    for said in life.changes:
        if life.leader is not None and said.leader >= 0 and said.leader not in life.leader.isr:
            return Suspect.BROKER, (
                f"broker {said.leader} became leader in epoch {said.epoch} and had not been in sync: "
                "an election that the settings forbid"
            )
    if life.instead is not None and life.instead.get("leader_epoch") is not None:
        epoch = life.instead["leader_epoch"]
        same = life.leader is not None and epoch == life.leader.epoch
        who = "another record of the same epoch stands there" if same else f"a leader of epoch {epoch} wrote another"
        return Suspect.BROKER, f"it was acknowledged{then}, and {who}"
    return Suspect.BROKER, f"it was acknowledged{then} under settings that promise to keep it, and the log lacks it"


def _lost_power(history: History, in_sync: set[int]) -> str | None:
    """Whether all that were in sync lost what they had not flushed, at about the same time."""
    dark = [fault for fault in acted(history) if fault.word == "power_off"]
    hit = {node for fault in dark for node in fault.targets}
    if in_sync and hit >= in_sync:
        return f"every replica in sync ({', '.join(map(str, sorted(in_sync)))}) lost power"
    return None


def _of_delivery(history: History, evidence: Mapping[str, Any], life: Life) -> Guess:
    offset, name = evidence.get("offset"), evidence.get("group")
    group = next((one for one in groups(history) if one.name == name), None)
    if group is None or not isinstance(offset, int):
        return Suspect.OPEN, "it is not recorded which group missed it"
    beyond = delivered_to(group, history.reads(life.message.partition)).filter(pl.col("offset") > offset)
    if beyond.is_empty():
        return Suspect.EITHER, f"group {name} was given nothing of this partition from here on"
    row = beyond.sort("read_ns").row(0, named=True)
    return Suspect.EITHER, (
        f"group {name} went past it: consumer {row['consumer']} was given offset {row['offset']} instead, so a "
        "position was lost, reset, or skipped"
    )


def _of_copy(life: Life) -> Guess:
    numbers = [
        (copy["producer_id"], copy["producer_epoch"], copy["base_sequence"] + copy["offset"] - copy["base_offset"])
        for copy in life.copies
        if copy.get("producer_id") is not None and copy["producer_id"] >= 0
    ]
    if len(set(numbers)) < len(numbers):
        return (
            Suspect.BROKER,
            "one producer sequence is stored twice: an idempotent producer's retry was not recognised",
        )
    if len(numbers) == len(life.copies) > 1:
        return Suspect.CLIENT, "the copies bear different producer sequences: the client sent it again as a new message"
    return Suspect.CLIENT, "nothing numbers the copies: without idempotence a client's retry is a second message"


def _of_order(history: History, evidence: Mapping[str, Any], life: Life) -> Guess:
    highest = evidence.get("offset_of_an_earlier_one")
    if not life.copies or not isinstance(highest, int):
        return Suspect.OPEN, "the audit does not say how the batches were numbered"
    own = life.copies[0]
    batches = history.batches(life.message.partition)
    other = batches.filter((pl.col("base_offset") <= highest) & (pl.col("last_offset") >= highest))
    if other.is_empty() or own.get("base_sequence") is None or (own.get("producer_id") or -1) < 0:
        return Suspect.OPEN, "the audit does not say how the batches were numbered"
    row = other.row(0, named=True)
    same = (row["producer_id"], row["producer_epoch"]) == (own["producer_id"], own["producer_epoch"])
    if (
        same
        and row["base_sequence"] + highest - row["base_offset"]
        < own["base_sequence"] + own["offset"] - own["base_offset"]
    ):
        return Suspect.BROKER, "the producer's own numbering has them the other way round: a broker stored them so"
    return Suspect.CLIENT, "the log holds them as the client numbered them: it sent the later one first"


def of_check(history: History, check: CheckResult, result: Result) -> Guess:
    """Of a check that is about no single message."""
    for row in check.evidence:
        if "traceback" in row:
            return Suspect.HARNESS, "the check itself crashed"
        if (reason := str(row.get("reason"))) in _BY_REASON:
            suspect, why = _BY_REASON[reason]
            if reason == Reason.FAULT_NOT_PROVEN and "NoTarget" in str(row.get("why")):
                suspect, why = Suspect.SETTINGS, "the plan's target fitted nobody then: another seed asks anew"
            return suspect, f"{why} ({row.get('where')}: {row.get('why')})"
    if check.word in _BY_WORD:
        return _BY_WORD[check.word]
    if check.answer is Answer.UNKNOWN:
        return Suspect.OPEN, check.summary
    return _of_service(history, check, result)


def _of_service(history: History, check: CheckResult, result: Result) -> Guess:
    """Something came late, or never."""
    if (stalled_s := _stalled_s(history)) >= STALLED_TOO_LONG_S:
        return Suspect.ENVIRONMENT, f"the machine stood still for {stalled_s:.1f} s in all while this was measured"
    whole = any(other.word == "recovered" and other.answer is Answer.PASS for other in result.checks)
    if check.word == "progress" and whole:
        return Suspect.EITHER, "every broker says that all is whole again, and this client was served no more"
    return Suspect.BROKER, "nothing else that was recorded explains it: the machine kept its pace, the clients lived"


def _stalled_s(history: History) -> float:
    return sum(stall.gap_ns for stall in Stalls.of(history).seen) / NS_PER_S
