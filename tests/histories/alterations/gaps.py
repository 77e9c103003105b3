"""Alterations that take away what a verdict needs: ends, tapes, clocks, load, proofs, the observer.

In: a Copy. Out: nothing; the copy is changed.
"""

from __future__ import annotations

from chaoskafka.history.views import acted
from tests.histories.alterations.log import lose_one
from tests.histories.alterations.rows import at, message
from tests.histories.copy import Copy


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
