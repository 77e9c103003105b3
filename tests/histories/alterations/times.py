"""Alterations of when things happened: who learnt of a new leader, who was served.

In: a Copy. Out: nothing; the copy is changed.
"""

from __future__ import annotations

import json

import polars as pl

from chaoskafka.history.views import acted
from chaoskafka.timing.leadership import answers, live_brokers
from tests.histories.alterations.rows import doubt_acks
from tests.histories.copy import Copy, Row


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
    doubt_acks(copy, pl.col("completed_ns") >= acted_ns)


def stall_the_machine(copy: Copy) -> None:
    """The machine stood still for a second inside every client's gap."""
    fault = acted(copy.history)[0]
    assert fault.acted_ns is not None
    stall = {"kind": "stall", "gap_ns": 1_000_000_000}
    stall |= {"lo_ns": fault.acted_ns + 500_000_000, "hi_ns": fault.acted_ns + 1_500_000_000}
    path = copy.run_dir / "observations.jsonl"
    path.write_text(path.read_text() + json.dumps(stall) + "\n")


def starve_the_machine(copy: Copy) -> None:
    """All the time tasks waited for a core, long after the last event too."""
    _press(copy, share=0.97)


def use_the_machine(copy: Copy) -> None:
    """Most of the time tasks waited for a core: as much as a cluster itself makes of a small machine."""
    _press(copy, share=0.6)


def _press(copy: Copy, *, share: float) -> None:
    instants = [event.at_ns for event in copy.history.events]
    begin_ns, end_ns = min(instants) - 400 * 10**9, max(instants)
    seconds = range((end_ns - begin_ns) // 10**9 + 1)
    pressed = [
        {"kind": "pressure", "lo_ns": lo_ns, "hi_ns": lo_ns + 10**9, "gap_ns": int(share * 10**9)}
        for lo_ns in (begin_ns + at * 10**9 for at in seconds)
    ]
    path = copy.run_dir / "observations.jsonl"
    path.write_text(path.read_text() + "".join(json.dumps(row) + "\n" for row in pressed))


def lead_on(copy: Copy) -> None:
    """Leadership stayed as it was, and the controllers' log, read throughout, says so too."""
    fault = acted(copy.history)[0]
    assert fault.acted_ns is not None
    deed_ns = fault.acted_ns
    copy.lines(
        "observations.jsonl",
        lambda row: (
            None if row["kind"].startswith("log_") or (row["kind"] == "leadership" and row["hi_ns"] > deed_ns) else row
        ),
    )
    said = [answers(copy.history, place)[-1] for place in copy.history.partitions]
    rows: list[Row] = [{"kind": "log_leader", "controller": 3}]
    for place, last in zip(copy.history.partitions, said, strict=True):
        stood = {"leader": last.leader, "epoch": last.epoch, "isr": [1, 2, 3], "replicas": [1, 2, 3]}
        rows.append({"kind": "log_partition", "topic": place.topic, "partition": place.partition, **stood})
    rows.append({"kind": "log_noop"})
    path = copy.run_dir / "observations.jsonl"
    *before, stopped = path.read_text().splitlines()
    end_ns = json.loads(stopped)["hi_ns"]
    common = {"quorum_epoch": 1, "by": 3}
    lines = [
        json.dumps(
            {**row, **common, "offset": at, "last_offset": at, "lo_ns": min(at_ns, end_ns), "hi_ns": min(at_ns, end_ns)}
        )
        for at, row in enumerate(rows)
        for at_ns in [end_ns if row["kind"] == "log_noop" else said[0].lo_ns]
    ]
    path.write_text("\n".join([*before, *lines, stopped]) + "\n")


def lead_on_half_read(copy: Copy) -> None:
    """Nobody was elected as long as the log was read, which ended before the fault did."""
    lead_on(copy)
    copy.lines("observations.jsonl", lambda row: None if row["kind"] == "log_noop" else row)


def lead_on_read_to_the_heal(copy: Copy) -> None:
    """Nobody was elected as long as the log was read, which ended with the heal: that may have brought one about."""
    lead_on(copy)
    healed_ns = acted(copy.history)[0].healed_ns
    assert healed_ns is not None
    read = {"lo_ns": healed_ns, "hi_ns": healed_ns + 1}
    copy.lines("observations.jsonl", lambda row: row | read if row["kind"] == "log_noop" else row)


def elect_an_internal_leader(copy: Copy) -> None:
    """An election of an internal partition: no client sees it, and no broker was asked about it."""
    lead_on(copy)
    fault = acted(copy.history)[0]
    assert fault.acted_ns is not None
    path = copy.run_dir / "observations.jsonl"
    place = {"kind": "log_partition", "topic": "__consumer_offsets", "partition": 7, "isr": [1], "replicas": [1]}
    common = {**place, "quorum_epoch": 1, "by": 3}
    *before, stopped = path.read_text().splitlines()
    rows = [
        {**common, "leader": 1, "epoch": 0, "offset": 40, "last_offset": 40, "lo_ns": 1, "hi_ns": 2},
        {**common, "leader": -1, "epoch": 1, "offset": 41, "last_offset": 41}
        | {"lo_ns": fault.acted_ns + 10**9, "hi_ns": fault.acted_ns + 10**9},
    ]
    path.write_text("\n".join([*before, *map(json.dumps, rows), stopped]) + "\n")
