"""Named alterations of a good run: each changes one row, or the few rows that say the same thing in several files.

In: a Copy. Out: nothing; the copy is changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import polars as pl

from chaoskafka.history.identity import PayloadState
from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import acted
from chaoskafka.timing.leadership import live_brokers
from tests.histories.copy import Copy, Row

Alteration = Callable[[Copy], None]


def at(offset: int) -> pl.Expr:
    return pl.col("offset").eq(offset)


def message(row: Row) -> pl.Expr:
    """The rows that name the same message."""
    return (pl.col("producer") == row["producer"]) & (pl.col("sequence") == row["sequence"])


# The log.


def lose_one(copy: Copy) -> None:
    """An acknowledged message is not in the log."""
    copy.drop("audit/record", at(copy.acked()["offset"]))


def lose_the_tail(copy: Copy) -> None:
    """The log ends one acknowledged message early."""
    history, partition = copy.history, copy.partition
    last = history.ends[partition].end - 1
    copy.drop("audit/record", at(last))
    copy.end(end=last, read_to=last)


def lose_one_without_offset(copy: Copy) -> None:
    """A message is not in the log that was acknowledged without an offset."""
    row = copy.acked()
    copy.drop("audit/record", at(row["offset"]))
    copy.set("ops/send", message(row), offset=None)


def forget_an_offset(copy: Copy) -> None:
    """An acknowledgement carries no offset; the message is there."""
    copy.set("ops/send", message(copy.acked()), offset=None)


def replace_one(copy: Copy) -> None:
    """Another message stands where an acknowledged one should be, and readers saw it there as well."""
    gone, other = copy.acked(0.5), copy.acked(0.6)
    named = {name: other[name] for name in ("producer", "incarnation", "sequence")}
    copy.set("audit/record", at(gone["offset"]), **named)
    copy.set("ops/read", at(gone["offset"]), **named)


def expire_the_head(copy: Copy) -> None:
    """Retention removed the first tenth of the log before it was audited."""
    start = copy.acked(0.1)["offset"]
    copy.drop("audit/record", pl.col("offset") < start)
    copy.end(log_start=start)


def append(copy: Copy, *, same_sending: bool = False, again: Row | None = None, **record: object) -> None:
    """A record is appended to the log, in a batch of its own, and delivered to the group like any other.

    `again`: the record that it repeats; `same_sending`: also under the same producer sequence.
    """
    history, partition = copy.history, copy.partition
    model = again or copy.record(copy.acked()["offset"])
    end = history.ends[partition].end
    batch = history.batches(partition).row(by_predicate=pl.col("base_offset") == model["base_offset"], named=True)
    fields = [name for name in history.records(partition).columns if name in model]
    row = {name: model[name] for name in fields} | record | {"offset": end, "base_offset": end}
    number = model["base_sequence"] + model["offset"] - model["base_offset"]
    copy.add("audit/record", row)
    copy.add(
        "audit/batch",
        batch
        | {"base_offset": end, "last_offset": end, "count": 1}
        | {
            "base_sequence": number if same_sending else 1_000_000,
            "leader_epoch": history.ends[partition].leader_epoch,
        },
    )
    copy.end(end=end + 1, read_to=end + 1)
    last = history.reads(partition).sort("read_ns").row(-1, named=True)
    copy.add("ops/read", {name: row.get(name, value) for name, value in last.items()} | {"offset": end})


def store_twice(copy: Copy) -> None:
    """The broker stored one batch twice: the same producer id, epoch and sequence."""
    again = copy.record(copy.acked()["offset"])
    append(copy, again=again, same_sending=True)


def send_twice(copy: Copy) -> None:
    """The client sent one message again under another sequence."""
    append(copy, again=copy.record(copy.acked()["offset"]))


def store_unsent(copy: Copy) -> None:
    """A message is in the log that its producer never sent."""
    append(copy, sequence=10_000_000)


def store_misplaced(copy: Copy) -> None:
    """A message is in the log that was sent to another partition."""
    append(copy, sent_partition=copy.other_partition.partition)


def store_torn(copy: Copy) -> None:
    """A record of ours is in the log whose checksum is wrong."""
    append(copy, **_nobody(PayloadState.TORN))


def store_foreign(copy: Copy) -> None:
    """Another application wrote to the topic."""
    append(copy, **_nobody(PayloadState.FOREIGN))


def _nobody(state: PayloadState) -> Row:
    identity = {"producer": 0, "incarnation": 0, "sequence": -1}
    return {"state": state, **identity, "sent_topic": None, "sent_partition": None}


def refuse_what_is_stored(copy: Copy) -> None:
    """A message is in the log that the client had refused to take."""
    row = copy.acked()
    copy.set("ops/send", message(row), outcome=Outcome.REJECTED, offset=None)
    copy.count(row["producer"], refused=1, accepted=-1, acknowledged=-1)


def doubt_one(copy: Copy) -> None:
    """A message of unknown outcome is in the log, at a place before an earlier one: late, but nobody was told."""
    swap_two(copy)
    row = copy.acked(0.5)
    copy.set("ops/send", message(row), outcome=Outcome.INDETERMINATE, offset=None, completed_ns=None, completed=False)
    copy.count(row["producer"], acknowledged=-1, indeterminate=1)


def swap_two(copy: Copy) -> None:
    """Two messages of one producer changed places, and all agree that they did."""
    history, partition = copy.history, copy.partition
    one = copy.acked(0.5)
    sends = history.sends(partition).filter(
        (pl.col("producer") == one["producer"])
        & (pl.col("outcome") == Outcome.ACKNOWLEDGED)
        & (pl.col("offset") > one["offset"])
    )
    other = sends.sort("sequence").row(0, named=True)
    for kind in ("audit/record", "ops/read"):
        # Both at once, so that the second change does not find what the first one wrote.
        copy.table(kind, lambda table: table.with_columns(sequence=_exchanged("sequence", "offset", one, other)))
    copy.table(
        "ops/send", lambda t: t.with_columns(offset=_exchanged("offset", "sequence", one, other, one["producer"]))
    )


def _exchanged(value: str, key: str, one: Row, other: Row, producer: int | None = None) -> pl.Expr:
    mine = pl.lit(value=True) if producer is None else pl.col("producer") == producer
    return (
        pl.when(mine & (pl.col(key) == one[key]))
        .then(pl.lit(other[value]))
        .when(mine & (pl.col(key) == other[key]))
        .then(pl.lit(one[value]))
        .otherwise(pl.col(value))
    )


# Acknowledgements and readers.


def misname_an_acknowledgement(copy: Copy) -> None:
    """An acknowledgement names the offset of another message."""
    copy.set("ops/send", message(copy.acked(0.5)), offset=copy.acked(0.6)["offset"])


def misread_one(copy: Copy) -> None:
    """A consumer found another message at an offset than the audit did."""
    copy.set("ops/read", at(copy.acked(0.5)["offset"]), sequence=copy.acked(0.6)["sequence"])


def read_again(copy: Copy) -> None:
    """One record was delivered twice, at one offset."""
    row = copy.history.reads(copy.partition).row(-1, named=True)
    copy.add("ops/read", row | {"ordinal": row["ordinal"] + 1})


def skip_one(copy: Copy) -> None:
    """One record was never delivered to the group."""
    copy.drop("ops/read", at(copy.acked()["offset"]))


def stop_reading(copy: Copy) -> None:
    """The group got nothing of one partition after the recovery."""
    copy.drop("ops/read", pl.col("read_ns") >= _recovered_ns(copy))


def never_read_before(copy: Copy) -> None:
    """The group got nothing of one partition before the fault, and everything after it."""
    acted_ns = acted(copy.history)[0].acted_ns
    assert acted_ns is not None
    copy.set("ops/read", pl.col("read_ns") <= acted_ns, read_ns=acted_ns + 1)


def stop_acknowledging(copy: Copy) -> None:
    """Nothing on one partition was acknowledged after the recovery, though it was offered and stored."""
    _doubt_acks(copy, pl.col("completed_ns") >= _recovered_ns(copy))


def stall_at_the_end(copy: Copy) -> None:
    """One partition was served after the recovery, then no more while load went on for another ten seconds."""
    history, partition = copy.history, copy.partition
    last = history.sends(partition).filter(pl.col("producer") == copy.producer).row(-1, named=True)
    late = {
        "sequence": last["sequence"] + 1,
        "outcome": Outcome.INDETERMINATE,
        "completed": False,
        "offset": None,
        "invoked_ns": last["invoked_ns"] + 10_000_000_000,
        "completed_ns": None,
        "latency_ns": None,
        "code": 0,
    }
    copy.add("ops/send", last | late)
    copy.count(copy.producer, offered=1, accepted=1, indeterminate=1)


def _doubt_acks(copy: Copy, which: pl.Expr) -> None:
    acked = (pl.col("outcome") == Outcome.ACKNOWLEDGED) & which
    sends = copy.history.sends(copy.partition).filter(acked).group_by("producer").len()
    copy.set("ops/send", acked, outcome=Outcome.INDETERMINATE, offset=None)
    for producer, count in sends.iter_rows():
        copy.count(producer, acknowledged=-count, indeterminate=count)


def _recovered_ns(copy: Copy) -> int:
    return next(event.at_ns for event in copy.history.events if event.event == "recovered")


# What is missing from the history.


def unsettle(copy: Copy) -> None:
    copy.end(settled=False, reason="two ListOffsets differed")


def stop_the_audit_early(copy: Copy) -> None:
    """The last record was not read, though the end is known."""
    last = copy.history.ends[copy.partition].end - 1
    copy.end(read_to=last)
    copy.drop("audit/record", at(last))


def never_audit(copy: Copy) -> None:
    place = copy.partition
    copy.json(
        "audit/ends.json",
        lambda rows: [r for r in rows if (r["topic"], r["partition"]) != (place.topic, place.partition)],
    )


def lose_elsewhere_unsettled(copy: Copy) -> None:
    """Loss on one partition, while another's end is not settled."""
    lose_one(copy)
    copy.end(at=copy.other_partition, settled=False, reason="the leader was not at its current epoch")


def tear_a_producer_tape(copy: Copy) -> None:
    copy.report(copy.producer, tape_whole=False)


def lose_a_producer_tape(copy: Copy) -> None:
    copy.without_report(copy.producer)


def lose_a_send(copy: Copy) -> None:
    """One send is missing from the middle of a tape that calls itself whole."""
    copy.drop("ops/send", message(copy.acked()))


def tear_a_consumer_tape(copy: Copy) -> None:
    copy.report(copy.consumer, tape_whole=False)


def lose_a_consumer_tape(copy: Copy) -> None:
    copy.without_report(copy.consumer)


def move_a_producer_to_another_clock(copy: Copy) -> None:
    copy.report(copy.producer, clock="CLOCK_MONOTONIC:another-boot")


def move_a_consumer_to_another_clock(copy: Copy) -> None:
    copy.report(copy.consumer, clock="CLOCK_MONOTONIC:another-boot")


def forget_a_producer_clock(copy: Copy) -> None:
    copy.report(copy.producer, clock="")


def move_the_observer_to_another_clock(copy: Copy) -> None:
    copy.lines(
        "observations.jsonl",
        lambda row: row | {"clock": "CLOCK_MONOTONIC:another-boot"} if row["kind"] == "started" else row,
    )


def observe_nothing(copy: Copy) -> None:
    (copy.run_dir / "observations.jsonl").write_text("")


def idle_through_the_fault(copy: Copy) -> None:
    """The fault was over so soon that nothing was sent while it was in force."""
    fault = acted(copy.history)[0]
    assert fault.acted_ns is not None
    copy.event("fault", "healing", at_ns=fault.acted_ns + 1)


def add_an_idle_partition(copy: Copy) -> None:
    """The topic has one partition more, to which nothing was ever sent."""
    place = copy.partition
    count = copy.history.header.topic(place.topic).partitions
    copy.topic(partitions=count + 1)
    copy.json(
        "audit/ends.json",
        lambda rows: [
            *rows,
            rows[0] | {"topic": place.topic, "partition": count, "end": 0, "read_to": 0, "log_start": 0},
        ],
    )


def leave_unproven(copy: Copy) -> None:
    copy.event("fault", "active", proof=None)


def prove_with_nothing(copy: Copy) -> None:
    copy.event("fault", "active", proof={})


def never_play(copy: Copy) -> None:
    copy.without_event("fault")


def skip_the_fault(copy: Copy) -> None:
    """Nobody fitted the target: the nemesis says so instead of playing."""
    copy.without_event("fault", "healing", "healed")
    copy.lines(
        "events.jsonl",
        lambda row: (
            {**{k: row[k] for k in ("at_ns", "at", "event", "fault", "word")}, "state": "skipped", "error": "no target"}
            if row.get("state") == "active"
            else row
        ),
    )


def leave_unhealed(copy: Copy) -> None:
    copy.event("fault", "healed", proof=None)


def never_heal(copy: Copy) -> None:
    copy.without_event("fault", "healed")
    copy.without_event("recovered")


def see_no_leaders_before(copy: Copy) -> None:
    """The observer began only after the fault."""
    acted_ns = acted(copy.history)[0].acted_ns
    assert acted_ns is not None
    copy.lines(
        "observations.jsonl",
        lambda row: None if row["kind"] == "leadership" and row["hi_ns"] <= acted_ns else row,
    )


# Times.


def _learn(copy: Copy, *, broker_index: int = -1, lo_s: float | None = None, hi_s: float | None = None) -> None:
    """One live broker learns of the new leader of one partition otherwise than it did; hi_s None: never."""
    fault, place = acted(copy.history)[0], copy.partition
    assert fault.acted_ns is not None
    broker = live_brokers(copy.history, fault)[broker_index]
    said = []

    def is_news(row: Row) -> bool:
        return (
            row["kind"] == "leadership"
            and (row["broker"], row["topic"], row["partition"]) == (broker, place.topic, place.partition)
            and row["hi_ns"] > fault.acted_ns
        )

    def change(row: Row) -> Row | None:
        if not is_news(row):
            return row
        said.append(row)
        if len(said) > 1 or hi_s is None:
            return None
        moved = {"hi_ns": fault.acted_ns + int(hi_s * 1e9)}
        return row | moved | ({"lo_ns": fault.acted_ns + int(lo_s * 1e9)} if lo_s is not None else {})

    copy.lines("observations.jsonl", change)


def learn_late(copy: Copy) -> None:
    """One broker named the new leader 40 s after the fault."""
    _learn(copy, lo_s=39.9, hi_s=40.0)


def learn_who_knows_when(copy: Copy) -> None:
    """One broker was not asked for 40 s, then named the new leader."""
    _learn(copy, hi_s=40.0)


def never_learn(copy: Copy) -> None:
    """One broker went on naming the old leader for as long as it was watched."""
    _learn(copy)


def never_learn_unwatched(copy: Copy) -> None:
    """One broker had not named the new leader when the observer lost it, a moment after the fault."""
    _learn(copy)
    fault = acted(copy.history)[0]
    assert fault.acted_ns is not None
    broker = live_brokers(copy.history, fault)[-1]
    lost = {"kind": "reachable", "broker": broker, "up": False, "error": "timed out"}
    lost |= {"lo_ns": fault.acted_ns + 1_000_000, "hi_ns": fault.acted_ns + 2_000_000}
    path = copy.run_dir / "observations.jsonl"
    path.write_text(path.read_text() + json.dumps(lost) + "\n")


def elect_nobody(copy: Copy) -> None:
    """No broker ever named a new leader."""
    fault = acted(copy.history)[0]
    for index in range(len(live_brokers(copy.history, fault))):
        _learn(copy, broker_index=index)


def hit_a_follower(copy: Copy) -> None:
    """The fault hit a node that led nothing."""
    nodes = {**copy.history.header.nodes, "99": ("broker",)}
    copy.header(nodes={node: list(roles) for node, roles in nodes.items()})
    copy.event("fault", "active", targets=[99])


def acknowledge_no_more(copy: Copy) -> None:
    """From the fault on, one partition never acknowledged anything again."""
    acted_ns = acted(copy.history)[0].acted_ns
    assert acted_ns is not None
    _doubt_acks(copy, pl.col("completed_ns") >= acted_ns)


def stall_the_machine(copy: Copy) -> None:
    """The machine stood still for a second inside every client's gap."""
    fault = acted(copy.history)[0]
    assert fault.acted_ns is not None
    stall = {"kind": "stall", "gap_ns": 1_000_000_000}
    stall |= {"lo_ns": fault.acted_ns + 500_000_000, "hi_ns": fault.acted_ns + 1_500_000_000}
    path = copy.run_dir / "observations.jsonl"
    path.write_text(path.read_text() + json.dumps(stall) + "\n")


# Workers.


def start_at_the_end(copy: Copy) -> None:
    copy.workload("consume", settings={"auto.offset.reset": "latest"})


def write_a_transaction(copy: Copy) -> None:
    offset = copy.record(copy.acked()["offset"])["base_offset"]
    copy.set("audit/batch", pl.col("base_offset") == offset, transactional=True)


def read_nobody(copy: Copy) -> None:
    """The run had no consumer group."""
    copy.json("run.json", lambda h: {**h, "workloads": [w for w in h["workloads"] if w["word"] != "consume"]})


def miscount(copy: Copy) -> None:
    """A worker's own counts do not close."""
    copy.count(copy.producer, accepted=1)


def miscount_on_tape(copy: Copy) -> None:
    """A worker counted an acknowledgement that its tape has as of unknown outcome; its own counts close."""
    copy.count(copy.producer, acknowledged=1, indeterminate=-1)


def close_without_a_word(copy: Copy) -> None:
    copy.report(copy.producer, closed=False, drained=False, exit_code=1)


def fail_fatally(copy: Copy) -> None:
    copy.report(copy.producer, fatal=["-150: Fatal error: out of order sequence number"])


def fail_fatally_on_tape(copy: Copy) -> None:
    row = {"worker": copy.producer, "incarnation": 0, "ordinal": 0, "at_ns": 0, "code": -150, "fatal": True}
    copy.add("ops/error", row)


def die_of_a_signal(copy: Copy) -> None:
    copy.report(copy.producer, closed=False, drained=False, exit_code=None, exit_signal=11)


def hang_in_close(copy: Copy) -> None:
    copy.report(copy.producer, drained=False, exit_code=75)


def never_end(copy: Copy) -> None:
    copy.report(copy.producer, closed=False, drained=False, exit_code=None)


def end_by_our_kill(copy: Copy) -> None:
    """It had to be killed because it did not end when asked."""
    copy.report(copy.producer, closed=False, drained=False, exit_code=None, exit_signal=9, killed_by_us=True)


def kill_and_replace(copy: Copy) -> None:
    """A fault killed a worker, and a later incarnation took its place."""
    end_by_our_kill(copy)

    def change(rows: list[Row]) -> list[Row]:
        killed = next(row for row in rows if row["worker"] == copy.producer)
        none = dict.fromkeys(("offered", "refused", "accepted", "acknowledged", "indeterminate"), 0)
        alive = {"closed": True, "drained": True, "exit_code": 0, "exit_signal": None, "killed_by_us": False}
        return [*rows, killed | none | alive | {"incarnation": 1}]

    copy.json("ops/workers.json", change)


def crash_a_consumer(copy: Copy) -> None:
    copy.report(copy.consumer, closed=False, drained=False, crash="Traceback\nKeyError: 'orders'", exit_code=70)


def starve_a_consumer(copy: Copy) -> None:
    starved = {"exit_code": None, "exit_signal": 9, "out_of_memory": True}
    copy.report(copy.consumer, closed=False, drained=False, **starved)


def never_start_workers(copy: Copy) -> None:
    copy.json("ops/workers.json", lambda _: [])


# The plan and the recovery.


def without_a_plan(copy: Copy) -> None:
    never_play(copy)
    copy.header(plan=[])


def plan_one_more(copy: Copy) -> None:
    copy.json("run.json", lambda header: {**header, "plan": header["plan"] * 2})


def recover_at_the_end(copy: Copy) -> None:
    """The load ended before the cluster was seen whole again."""
    copy.event("recovered", at_ns=_last_instant_ns(copy) + 1)


def _last_instant_ns(copy: Copy) -> int:
    return max(event.at_ns for event in copy.history.events) + 3_600_000_000_000


def stay_broken(copy: Copy) -> None:
    copy.event("recovered", whole=False, missing=["broker 1 is fenced"])


def recover_late(copy: Copy) -> None:
    copy.event("recovered", within_s=31.5, limit_s=30.0)


def recover_untimed(copy: Copy) -> None:
    copy.event("recovered", within_s=None)


def never_wait_for_recovery(copy: Copy) -> None:
    copy.without_event("recovered")
