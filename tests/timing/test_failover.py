from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from chaoskafka.history.read import open_history
from chaoskafka.timing.failover import failover
from chaoskafka.timing.times import FaultTimes, PartitionTimes
from tests.histories import alterations
from tests.histories.builder import build
from tests.histories.copy import Copy
from tests.histories.shape import VICTIM, Shape

SHAPE = Shape(partitions=2)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Nobody alters this one."""
    return Copy.at(build(tmp_path_factory.mktemp("built") / "run", SHAPE))


@pytest.fixture
def run(built: Copy, tmp_path: Path) -> Copy:
    return built.into(tmp_path / "run")


def the_fault(run: Copy) -> FaultTimes:
    (fault,) = failover(open_history(run.run_dir))
    return fault


def led_by_the_victim(fault: FaultTimes) -> PartitionTimes:
    return next(partition for partition in fault.partitions if partition.old_leader == VICTIM)


def test_the_window_is_from_the_deed_to_the_proof_of_healing(run: Copy) -> None:
    fault = the_fault(run)
    assert (fault.word, fault.targets) == ("kill", (VICTIM,))
    assert fault.window_s == pytest.approx(SHAPE.down_s + SHAPE.heal_s)


def test_leadership_is_what_the_live_brokers_said(run: Copy) -> None:
    hit, spared = the_fault(run).partitions
    assert (hit.old_leader, hit.new_leader) == (VICTIM, SHAPE.new_leader(0))
    assert (hit.old_epoch, hit.new_epoch) == (SHAPE.epoch(0), SHAPE.new_epoch(0))
    assert [sight.broker for sight in hit.seen_by] == [2, 3]
    for sight in hit.seen_by:
        assert SHAPE.elect_s <= sight.seen.lo_s < sight.seen.hi_s < SHAPE.elect_s + 0.1
    assert (spared.old_leader, spared.new_leader, spared.seen_by) == (SHAPE.leader(1), None, ())
    assert hit.in_sync is not None
    assert hit.in_sync.lo_s == pytest.approx(5.306)  # recovered less 0.2 s, as the second broker tells it
    assert hit.note is None


def test_the_first_success_is_one_in_the_new_epoch(run: Copy) -> None:
    hit = led_by_the_victim(the_fault(run))
    assert [sight.client for sight in hit.first_ack] == ["producer 1", "producer 2"]
    assert [sight.client for sight in hit.first_read] == ["group readers"]
    for sight in (*hit.first_ack, *hit.first_read):
        assert SHAPE.elect_s < sight.first.lo_s < sight.first.hi_s < SHAPE.elect_s + 0.1


def test_an_acknowledgement_out_of_the_old_leaders_epoch_is_not_a_redirect(run: Copy) -> None:
    """The zombie's late answers come after the election, for batches of its own epoch."""
    first = led_by_the_victim(the_fault(run)).first_ack[0].first.hi_s
    batches = run.history.batches(run.partition)
    new = batches.filter(batches["leader_epoch"] == SHAPE.new_epoch(0))["base_offset"].sort()
    run.set("audit/batch", pl.col("base_offset") <= new[3], leader_epoch=SHAPE.epoch(0))
    assert led_by_the_victim(the_fault(run)).first_ack[0].first.hi_s > first


def test_every_client_has_a_gap_over_the_fault(run: Copy) -> None:
    for partition in the_fault(run).partitions:
        assert [gap.client for gap in partition.unavailable] == ["producer 1", "producer 2", "group readers"]
        for gap in partition.unavailable:
            assert gap.length.lo_s <= gap.length.hi_s
            assert SHAPE.elect_s < gap.length.lo_s < SHAPE.elect_s + 0.2
            assert gap.starts_s == pytest.approx(0, abs=0.1)
            assert 0.05 < gap.resolution_s < 0.2
            assert not gap.open


def test_a_gap_that_never_closes_is_open_and_counts(run: Copy) -> None:
    alterations.acknowledge_no_more(run)
    gaps = led_by_the_victim(the_fault(run)).unavailable
    assert [gap.open for gap in gaps] == [True, True, False]
    rest_s = (SHAPE.stopped_ns - SHAPE.acted_ns) / 1e9
    assert all(gap.length.lo_s > rest_s - 0.2 for gap in gaps if gap.open)


def test_a_producer_without_any_success_is_not_left_out(run: Copy) -> None:
    run.set("ops/send", pl.col("producer") == 2, outcome=3, offset=None, completed_ns=None)
    gaps = {gap.client: gap for gap in led_by_the_victim(the_fault(run)).unavailable}
    assert gaps["producer 2"].open
    assert gaps["producer 2"].length.lo_s > SHAPE.down_s


def test_a_stall_of_the_machine_lowers_the_lower_end_only(run: Copy) -> None:
    before = led_by_the_victim(the_fault(run))
    alterations.stall_the_machine(run)
    after = led_by_the_victim(the_fault(run))
    for one, other in zip(before.unavailable, after.unavailable, strict=True):
        assert other.length.lo_s == pytest.approx(one.length.lo_s - 1.0)
        assert other.length.hi_s == one.length.hi_s
    assert after.seen_by[0].seen.lo_s == pytest.approx(before.seen_by[0].seen.lo_s - 1.0)
    assert after.seen_by[0].seen.hi_s == before.seen_by[0].seen.hi_s


def test_a_stall_before_the_fault_changes_nothing(run: Copy) -> None:
    before = the_fault(run)
    stall = {"kind": "stall", "gap_ns": 10**9, "lo_ns": SHAPE.acted_ns - 2 * 10**9, "hi_ns": SHAPE.acted_ns - 10**9}
    path = run.run_dir / "observations.jsonl"
    path.write_text(path.read_text() + json.dumps(stall) + "\n")
    assert the_fault(run) == before


@pytest.mark.parametrize(
    ("alter", "missing"),
    [
        (alterations.move_a_producer_to_another_clock, {"first_ack", "first_read", "unavailable"}),
        (alterations.move_a_consumer_to_another_clock, {"first_read"}),
        (alterations.move_the_observer_to_another_clock, {"seen_by", "in_sync"}),
        (alterations.observe_nothing, {"seen_by", "in_sync"}),
        (alterations.idle_through_the_fault, {"first_ack", "first_read", "unavailable"}),
    ],
)
def test_what_cannot_be_compared_is_left_out_and_said(run: Copy, alter: object, missing: set[str]) -> None:
    assert callable(alter)
    alter(run)
    partition = the_fault(run).partitions[0]
    figures = ("first_ack", "first_read", "unavailable", "seen_by", "in_sync")
    absent = {name for name in figures if not getattr(partition, name)}
    assert absent >= missing
    assert partition.note


def test_a_fault_that_never_bit_has_no_times(run: Copy) -> None:
    alterations.leave_unproven(run)
    fault = the_fault(run)
    assert (fault.partitions, fault.window_s) == ((), None)


def test_a_fault_that_never_healed_has_times_but_no_window(run: Copy) -> None:
    alterations.never_heal(run)
    fault = the_fault(run)
    assert fault.window_s is None
    assert led_by_the_victim(fault).unavailable[0].length.lo_s > SHAPE.elect_s


def test_an_offset_that_now_holds_another_message_is_not_a_redirect(run: Copy) -> None:
    """A deposed leader's late acknowledgement may name an offset that the new leader filled."""
    sends = run.history.sends(run.partition)
    mine = (pl.col("producer") == 1) & pl.col("offset").is_not_null() & (pl.col("completed_ns") > SHAPE.acted_ns)
    late = sends.filter(mine).sort("sequence").row(0, named=True)
    before = led_by_the_victim(the_fault(run)).first_ack[0].first
    run.set("audit/record", pl.col("offset") == late["offset"], sequence=9_999)
    after = led_by_the_victim(the_fault(run)).first_ack[0].first
    assert after.hi_s > before.hi_s


def test_each_of_two_faults_is_timed_by_itself(run: Copy) -> None:
    """A second fault, five seconds of whose window lie after the first: nothing moves in it."""
    events = run.run_dir / "events.jsonl"
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    shift_ns = SHAPE.recovered_ns + 10**9 - SHAPE.acted_ns
    again = [
        row
        | {"fault": 1, "at_ns": row["at_ns"] + shift_ns}
        | ({"acted_ns": SHAPE.acted_ns + shift_ns} if "acted_ns" in row else {})
        for row in rows
        if row["event"] == "fault"
    ]
    events.write_text("".join(json.dumps(row) + "\n" for row in [*rows, *again]))
    first, second = failover(open_history(run.run_dir))
    assert led_by_the_victim(first).new_epoch == SHAPE.new_epoch(0)
    assert {partition.new_leader for partition in second.partitions} == {None}
    assert [partition.old_leader for partition in second.partitions] == [2, 2]


def a_second_fault(run: Copy, *, later_s: float, targets: list[int]) -> None:
    """The same again, `later_s` later, while the first one is in force; its events are interleaved."""
    events = run.run_dir / "events.jsonl"
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    shift_ns = int(later_s * 10**9)
    again = [
        row
        | {"fault": 1, "at_ns": row["at_ns"] + shift_ns}
        | ({"acted_ns": SHAPE.acted_ns + shift_ns, "targets": targets} if "acted_ns" in row else {})
        for row in rows
        if row["event"] == "fault"
    ]
    events.write_text("".join(json.dumps(row) + "\n" for row in [*rows, *again]))
    run.json("run.json", lambda header: {**header, "plan": header["plan"] * 2})


def test_of_two_at_the_same_time_each_has_the_failover_and_who_caused_it_is_not_guessed(run: Copy) -> None:
    a_second_fault(run, later_s=0.1, targets=[3])
    first, second = failover(open_history(run.run_dir))
    assert (first.overlaps, second.overlaps) == ((1,), (0,))
    assert first.name == "fault 0 (and fault 1)"
    hit, of_other = led_by_the_victim(first), led_by_the_victim(second)
    assert hit.new_epoch == of_other.new_epoch == SHAPE.new_epoch(0), "the deed of one does not end the other"
    assert [sight.broker for sight in hit.seen_by] == [2], "who was hit by the other is not asked"
    assert hit.note is None, "it hit the old leader, and the other one did not"
    assert of_other.note is not None
    assert "fault 0 was in force too: whose doing the new leader is cannot be told" in of_other.note


def test_two_that_hit_the_same_leader_are_both_named(run: Copy) -> None:
    a_second_fault(run, later_s=0.1, targets=[VICTIM])
    first, second = failover(open_history(run.run_dir))
    for times, other in ((first, 1), (second, 0)):
        assert f"fault {other} was in force too" in (led_by_the_victim(times).note or "")


def test_leadership_that_was_placed_belongs_to_no_fault(run: Copy) -> None:
    """It was moved between the deed and what brokers tell: as if the election were the next step's."""
    events = run.run_dir / "events.jsonl"
    placed = {"at_ns": SHAPE.acted_ns + 10**8, "event": "place", "state": "begin"}
    events.write_text(events.read_text() + json.dumps(placed) + "\n")
    assert {partition.new_leader for partition in the_fault(run).partitions} == {None}


def test_what_brokers_knew_before_a_slow_deed_was_answered_is_its_effect(run: Copy) -> None:
    before = led_by_the_victim(the_fault(run))
    late_ns = SHAPE.elected_ns + 10**9
    events = run.run_dir / "events.jsonl"
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    for row in rows:
        if "acted_ns" in row:
            row |= {"asked_ns": row["acted_ns"], "acted_ns": late_ns}
    events.write_text("".join(json.dumps(row) + "\n" for row in rows))
    after = led_by_the_victim(the_fault(run))
    assert (after.new_leader, after.new_epoch) == (before.new_leader, before.new_epoch)
    assert after.seen_by[0].seen.lo_s == 0
    assert after.seen_by[0].seen.hi_s == pytest.approx(before.seen_by[0].seen.hi_s)


def test_without_an_audit_no_acknowledgement_is_called_a_redirect(run: Copy) -> None:
    alterations.never_audit(run)
    run.table("audit/record", lambda records: records.clear())
    hit = led_by_the_victim(the_fault(run))
    assert hit.first_ack == ()
    assert hit.first_read  # consumers are told the epoch
    assert hit.note is not None
    assert "not audited" in hit.note
