"""`progress`: every partition was served before the first fault and is served again after the recovery.

In: acknowledgements, deliveries, faults and the recovery event. Out: a verdict per partition of interest, for its
producers together and for each group: a member that owns nothing is not idle, its group is what counts. A client that
had successes after the recovery but was cut off again at the end fails too: its gap is still open.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import Doubt, Reason, clock_doubts, fault_doubts, tape_doubts, tell
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import acted, delivered_to, groups, loaded, recovery
from chaoskafka.verdict import Evidence, Verdict

# Longer than any pause that a healthy cluster shows (two metadata refreshes of a client, 1 s each, and a machine that
# stumbles), shorter than the time for which a drain waits: a gap still open beyond it is an outage.
OPEN_GAP_S = 5.0

BEFORE, AFTER = "before the fault", "after the recovery"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Client:
    """What one client wanted of a partition and what it got: instants in ns, ascending."""

    name: str
    partition: TopicPartition
    wanted_ns: pl.Series  # a message was offered, or lay ready to be read
    got_ns: pl.Series

    def evidence(self, what: str) -> Evidence:
        return {"partition": str(self.partition), "client": self.name, "what": what}

    def doubt(self, why: str) -> Doubt:
        return Doubt(Reason.NEVER_LOADED, str(self.partition), f"{self.name}: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Every partition was served before the fault and again after the recovery, for producers and each group."""

    def check(self, history: History) -> Verdict:
        clients = [client for partition in loaded(history) for client in _clients(history, partition)]
        failures, doubts = _judge_all(history, clients)
        if failures:
            text = f"{len(failures)} clients without progress: {failures[0]['client']}, {failures[0]['what']}"
            return Verdict.failed(text, counted=len(clients), found=len(failures), evidence=failures)
        doubts = [*doubts, *tape_doubts(history, "produce"), *tape_doubts(history, "consume"), *_unrecovered(history)]
        if doubts:
            return Verdict.unknown(tell(doubts), counted=len(clients), evidence=[doubt.evidence for doubt in doubts])
        return Verdict.passed("all were served before the fault and after the recovery", counted=len(clients))


def unserved(history: History) -> set[tuple[str, str]]:
    """Each client and partition without progress: `("group readers", "orders/0")`; all producers are "producers"."""
    clients = [client for partition in loaded(history) for client in _clients(history, partition)]
    return {(str(failure["client"]), str(failure["partition"])) for failure in _judge_all(history, clients)[0]}


def _judge_all(history: History, clients: list[_Client]) -> tuple[list[Evidence], list[Doubt]]:
    doubts = [*clock_doubts(history, "produce"), *clock_doubts(history, "consume"), *fault_doubts(history)]
    begin_ns, end_ns, unfinished = _bounds(history)
    doubts += unfinished
    if doubts:
        return [], doubts  # before and after cannot be told apart, so nothing is judged at all
    failures: list[Evidence] = []
    for client in clients:
        failed, doubtful = _judge(client, begin_ns, end_ns)
        failures += failed
        doubts += doubtful
    if failures and begin_ns is not None and recovery(history) is None:
        doubts += [_cut_short(failure) for failure in failures if BEFORE not in str(failure["what"])]
        failures = [failure for failure in failures if BEFORE in str(failure["what"])]
    return failures, doubts


def _bounds(history: History) -> tuple[int | None, int | None, list[Doubt]]:
    """Until when was before the first fault, and from when it is after the recovery. Both None in a run without faults.

    Where the run did not get as far as waiting for recovery, after begins with the end of the last healing.
    """
    faults = acted(history)
    if not faults:
        return None, None, []
    begin_ns = min(fault.acted_ns for fault in faults if fault.acted_ns is not None)
    seen_whole = recovery(history)
    if seen_whole is not None:
        return begin_ns, seen_whole.at_ns, []
    unhealed = [fault for fault in faults if fault.healed_ns is None]
    if unhealed:
        doubts = [Doubt(Reason.NOT_HEALED, f"fault {fault.index}", "so nothing came after it") for fault in unhealed]
        return begin_ns, None, doubts
    return begin_ns, max(fault.healed_ns for fault in faults if fault.healed_ns is not None), []


def _cut_short(failure: Evidence) -> Doubt:
    """A run that did not get as far as waiting for recovery, being stopped or out of time, gave nobody time for it."""
    why = f"{failure['client']}: {failure['what']}, but the run did not wait for the recovery"
    return Doubt(Reason.NOT_RECOVERED, str(failure["partition"]), why)


def _unrecovered(history: History) -> list[Doubt]:
    """Whether what came last can be called after the recovery. Without any progress it fails all the same."""
    seen = recovery(history)
    if seen is None or seen.fields.get("whole") is True or seen.fields.get("within_s") is not None:
        return []
    return [Doubt(Reason.NOT_RECOVERED, "the cluster", "so there is no time after its recovery")]


def _clients(history: History, partition: TopicPartition) -> list[_Client]:
    """The producers of a partition as one client, and each of its groups as one."""
    sends = history.sends(partition)
    acked_ns = sends.filter(pl.col("outcome") == Outcome.ACKNOWLEDGED)["completed_ns"].drop_nulls().sort()
    # What was refused never left the client: it wanted nothing of the cluster.
    offered_ns = sends.filter(pl.col("outcome") != Outcome.REJECTED)["invoked_ns"].sort()
    reads = history.reads(partition)
    producers = _Client(name="producers", partition=partition, wanted_ns=offered_ns, got_ns=acked_ns)
    readers = [
        _Client(
            name=f"group {group.name}",
            partition=partition,
            wanted_ns=acked_ns,
            got_ns=delivered_to(group, reads)["read_ns"].sort(),
        )
        for group in groups(history)
        if group.topic == partition.topic
    ]
    return [producers, *readers]


def _judge(client: _Client, begin_ns: int | None, end_ns: int | None) -> tuple[list[Evidence], list[Doubt]]:
    failures: list[Evidence] = []
    doubts: list[Doubt] = []
    spans = {BEFORE: (None, begin_ns), AFTER: (end_ns, None)} if end_ns else {"": (None, None)}
    for when, (from_ns, to_ns) in spans.items():
        if _inside(client.got_ns, from_ns, to_ns).is_empty():
            if _inside(client.wanted_ns, from_ns, to_ns).is_empty():
                doubts.append(client.doubt(f"nothing to do {when}".rstrip()))
            else:
                failures.append(client.evidence(f"no success {when}".rstrip()))
    if not failures and not doubts and (open_s := _open_gap_s(client)) > OPEN_GAP_S:
        failures.append(client.evidence(f"no success in the last {open_s:.1f} s of load"))
    return failures, doubts


def _inside(instants_ns: pl.Series, from_ns: int | None, to_ns: int | None) -> pl.Series:
    inside = instants_ns
    if from_ns is not None:
        inside = inside.filter(inside >= from_ns)
    if to_ns is not None:
        inside = inside.filter(inside <= to_ns)
    return inside


def _open_gap_s(client: _Client) -> float:
    """From the last success to the last thing wanted; nothing when the success came later."""
    return max(0.0, (int(client.wanted_ns[-1]) - int(client.got_ns[-1])) / NS_PER_S)
