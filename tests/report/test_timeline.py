"""The timeline: what is drawn over time is what the history says, and no more than can be taken in."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from chaoskafka.history.read import History
from chaoskafka.report.leaders import at, news
from chaoskafka.report.timeline import partitions
from chaoskafka.report.timeline.build import timeline
from chaoskafka.report.timeline.model import Bar, Lane, State, Timeline
from tests.histories import alterations as a
from tests.histories.copy import Copy
from tests.histories.shape import BROKERS, VICTIM, S, Shape
from tests.report.runs import whole


def drawn(history: History) -> Timeline:
    made = timeline(history)
    assert made is not None
    return made


def lanes(made: Timeline, section: str) -> dict[str, Lane]:
    return {lane.name: lane for found in made.sections if found.name == section for lane in found.lanes}


def bars(lane: Lane, *states: State) -> list[Bar]:
    return [bar for bar in lane.bars if bar.state in states]


def test_zero_is_the_first_deed_and_everything_lies_on_the_axis(good: Copy) -> None:
    made = drawn(good.history)
    assert made.zero == "the deed of fault 0 (kill)"
    (fault,) = bars(lanes(made, "the run")["0 kill"], State.FAULT)
    assert fault.lo_s == 0
    assert fault.hi_s == pytest.approx(Shape().down_s)
    every = [bar for section in made.sections for lane in section.lanes for bar in lane.bars]
    assert all(made.begin_s <= bar.lo_s <= bar.hi_s <= made.end_s for bar in every)


def test_a_partition_shows_its_leaders_what_was_missing_in_its_isr_and_when_nobody_got_through(good: Copy) -> None:
    shape = Shape(partitions=2)
    lane = lanes(drawn(good.history), "partitions")[str(good.partition)]
    before, *later = bars(lane, State.LEADER)
    assert before.broker == VICTIM
    assert {bar.broker for bar in later} == {shape.new_leader(good.partition.partition)}
    assert later[0].lo_s == pytest.approx(shape.elect_s, abs=0.1)
    (shrunk,) = bars(lane, State.SHRUNK)
    assert shrunk.told == f"not in sync: {VICTIM}"
    silent = max(bars(lane, State.SILENT), key=lambda bar: bar.hi_s - bar.lo_s)
    assert silent.lo_s < 0.1
    assert silent.hi_s == pytest.approx(shape.elect_s, abs=0.2)


def test_a_node_that_was_killed_does_not_answer_and_the_others_stay_up(good: Copy) -> None:
    nodes = lanes(drawn(good.history), "nodes")
    assert [bar.state for bar in nodes[f"node {VICTIM}"].bars] == [State.UP, State.DOWN, State.UP]
    others = [nodes[f"node {broker}"] for broker in BROKERS if broker != VICTIM]
    assert [[bar.state for bar in lane.bars] for lane in others] == [[State.UP], [State.UP]]


@pytest.mark.parametrize(("word", "state"), [("pause", State.FROZEN), ("isolate", State.CUT_OFF)])
def test_what_the_observer_cannot_see_comes_from_the_fault(word: str, state: State, run: Copy) -> None:
    path = run.run_dir / "events.jsonl"
    path.write_text(path.read_text().replace('"kill"', json.dumps(word)))
    (bar,) = bars(lanes(drawn(run.history), "nodes")[f"node {VICTIM}"], state)
    assert bar.lo_s == 0


def test_a_broker_whose_metadata_lags_is_behind_and_a_fenced_one_fenced(run: Copy) -> None:
    path, t0_ns = run.run_dir / "observations.jsonl", History(run.run_dir).faults[0].acted_ns
    assert t0_ns is not None
    more = [
        {"kind": "epoch", "lo_ns": t0_ns, "hi_ns": t0_ns, "broker": 2, "offset": 10},
        {"kind": "epoch", "lo_ns": t0_ns, "hi_ns": t0_ns, "broker": 3, "offset": 10},
        {"kind": "epoch", "lo_ns": t0_ns, "hi_ns": t0_ns + S // 10, "broker": 3, "offset": 20},
        {"kind": "epoch", "lo_ns": t0_ns, "hi_ns": t0_ns + 2 * S, "broker": 2, "offset": 20},
        {"kind": "fenced", "lo_ns": t0_ns, "hi_ns": t0_ns + S, "broker": 3, "by": 2, "fenced": True},
        {"kind": "fenced", "lo_ns": t0_ns, "hi_ns": t0_ns + 2 * S, "broker": 3, "by": 2, "fenced": False},
        {"kind": "fenced", "lo_ns": t0_ns, "hi_ns": t0_ns + 2 * S, "broker": 3, "by": 1, "fenced": False},
        {"kind": "fenced", "lo_ns": t0_ns, "hi_ns": t0_ns + 3 * S, "broker": 3, "by": 3, "fenced": True},  # old news
        {"kind": "controller", "lo_ns": t0_ns, "hi_ns": t0_ns, "broker": 2, "controller": 1},
        {"kind": "controller", "lo_ns": t0_ns, "hi_ns": t0_ns + S, "broker": 2, "controller": 3},
    ]
    path.write_text(path.read_text() + "".join(json.dumps(line) + "\n" for line in more))
    nodes = lanes(drawn(run.history), "nodes")
    (behind,) = bars(nodes["node 2"], State.BEHIND)
    assert (behind.lo_s, behind.hi_s) == (pytest.approx(0.1), pytest.approx(2.0))
    (fenced,) = bars(nodes["node 3"], State.FENCED)
    assert (fenced.lo_s, fenced.hi_s) == (pytest.approx(1.0), pytest.approx(2.0))
    assert [bar.broker for bar in nodes["controller"].bars] == [1, 3]


def test_clients_show_when_they_lived_and_a_group_when_it_was_without_its_partitions(run: Copy) -> None:
    path, first = run.run_dir / "events.jsonl", History(run.run_dir).faults[0].beginning_ns
    started = {"at_ns": first - S, "event": "worker", "worker": run.producer, "incarnation": 0, "state": "started"}
    exited = {
        "at_ns": first + S,
        "event": "worker",
        "worker": run.producer,
        "incarnation": 0,
        "state": "exited",
        "code": 1,
    }
    path.write_text(json.dumps(started) + "\n" + json.dumps(exited) + "\n" + path.read_text())
    clients = lanes(drawn(run.history), "clients")
    (alive,) = clients[f"produce {run.producer}"].bars
    assert alive.hi_s - alive.lo_s == pytest.approx(2.0)
    assert alive.told == f"produce {run.producer}: ended with exit code 1"
    assert State.ALIVE in {bar.state for bar in clients["group readers"].bars}


def test_throughput_counts_every_message_once(good: Copy) -> None:
    made = drawn(good.history)
    chart = next(chart for chart in made.charts if chart.name == "throughput")
    totals = {line.name: sum(value or 0 for value in line.values) * chart.bin_s for line in chart.lines}
    history = good.history
    offered = sum(history.sends(partition).height for partition in history.partitions)
    acked = sum(history.sends(partition).filter(outcome=1).height for partition in history.partitions)
    assert totals["offered"] == pytest.approx(offered)
    assert totals["acknowledged"] == pytest.approx(acked)


def test_latency_is_the_time_from_handing_over_to_being_told(good: Copy) -> None:
    chart = next(chart for chart in drawn(good.history).charts if chart.name == "latency")
    longest = max(value for line in chart.lines for value in line.values if value is not None)
    sends = pl.concat([good.history.sends(p) for p in good.history.partitions]).filter(outcome=1)
    assert longest == pytest.approx((sends["completed_ns"] - sends["invoked_ns"]).max() / 1e6)  # type: ignore[operator]


def test_clients_and_an_observer_on_another_clock_are_left_out_and_named(run: Copy) -> None:
    a.move_a_producer_to_another_clock(run)
    a.move_the_observer_to_another_clock(run)
    made = drawn(run.history)
    assert not any(bars(lane, State.LEADER, State.SILENT) for lane in lanes(made, "partitions").values())
    notes = {section.name: section.note for section in made.sections}
    assert "leaders are unknown" in (notes["partitions"] or "")
    assert "another clock" in (notes["clients"] or "")
    assert [line.name for chart in made.charts for line in chart.lines] == ["delivered"]


def test_a_run_without_a_fault_begins_with_its_first_client(run: Copy) -> None:
    a.without_a_plan(run)
    made = drawn(run.history)
    assert made.zero == "the first client started"
    assert made.length_s > 1


def test_of_hundreds_of_partitions_those_are_drawn_where_something_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "LANES_MAX", 3)
    run_dir = whole(tmp_path / "run", Shape(partitions=7, every_ms=400, refused=(), vanished=(), unconfirmed=()))
    made = drawn(History(run_dir))
    (section,) = [section for section in made.sections if section.name == "partitions"]
    assert [lane.name for lane in section.lanes] == ["orders/0", "orders/3", "orders/6"]  # those that broker 1 led
    assert section.note == "4 more partitions, where less happened, are not drawn"


def test_the_newest_metadata_wins_and_who_repeats_what_was_known_is_no_news(run: Copy) -> None:
    place = {"topic": run.partition.topic, "partition": run.partition.partition, "replicas": [1, 2, 3]}

    def said(at_ns: int, broker: int, leader: int, epoch: int, isr: list[int]) -> str:
        told = {"broker": broker, "leader": leader, "epoch": epoch, "isr": isr}
        return json.dumps({"kind": "leadership", "lo_ns": at_ns - 1, "hi_ns": at_ns, **place, **told}) + "\n"

    (run.run_dir / "observations.jsonl").write_text(
        said(10, 1, 1, 5, [1, 2, 3])
        + said(20, 2, 2, 6, [2, 3])
        + said(30, 1, 1, 5, [1, 2, 3])  # an old epoch
        + said(35, 2, 2, 6, [1, 2, 3])
        + said(40, 3, 2, 6, [2, 3])  # late
        + said(50, 3, 2, 6, [1, 2, 3])
        + said(60, 2, 2, 6, [2, 3])  # shrunk again, as who knew better says
    )
    history = run.history
    assert [(one.hi_ns, one.leader, one.isr) for one in news(history, run.partition)] == [
        (10, 1, (1, 2, 3)),
        (20, 2, (2, 3)),
        (35, 2, (1, 2, 3)),
        (60, 2, (2, 3)),
    ]
    known = at(history, run.partition, 34)
    assert known is not None
    assert known.isr == (2, 3)
    assert at(history, run.partition, 9) is None


def test_records_of_the_metadata_log_are_news_among_the_brokers_answers(run: Copy) -> None:
    place = {"topic": run.partition.topic, "partition": run.partition.partition, "replicas": [1, 2, 3]}
    record = {"kind": "log_partition", "leader": 2, "epoch": 9, "isr": [2], **place, "offset": 7, "partition_epoch": 3}
    late = {"kind": "leadership", "leader": 2, "epoch": 9, "isr": [2], **place, "broker": 3}
    nobody = {"kind": "leadership", "leader": 3, "epoch": 10, "isr": [3], **place}
    rows = [{**record, "lo_ns": 5, "hi_ns": 6}, {**late, "lo_ns": 7, "hi_ns": 8}, {**nobody, "lo_ns": 8, "hi_ns": 9}]
    (run.run_dir / "observations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [(one.hi_ns, one.teller) for one in news(run.history, run.partition)] == [(6, "the metadata log")]
