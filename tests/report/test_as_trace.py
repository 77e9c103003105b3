"""The Trace Event file: what the format asks for, and all that the timeline shows."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

from chaoskafka.report.as_trace import as_trace
from chaoskafka.report.whole import whole_run
from tests.histories.copy import Copy


def events(text: str) -> list[dict[str, Any]]:
    document = json.loads(text)
    assert set(document) == {"traceEvents", "displayTimeUnit"}
    found = document["traceEvents"]
    assert isinstance(found, list)
    return found


def test_every_bar_mark_and_point_is_an_event_on_a_named_thread(good: Copy) -> None:
    run = whole_run(good.run_dir)
    assert run.timeline is not None
    found = events(as_trace([run]))
    lanes = [lane for section in run.timeline.sections for lane in section.lanes]
    kinds = Counter(event["ph"] for event in found)
    assert kinds["X"] == sum(len(lane.bars) for lane in lanes)
    assert kinds["i"] == sum(len(lane.marks) for lane in lanes)
    assert kinds["C"] > 0
    threads = {event["tid"]: event["args"]["name"] for event in found if event["name"] == "thread_name"}
    assert {event["tid"] for event in found if event["ph"] in "Xi"} == set(threads)
    assert len(set(threads.values())) == len(threads)
    assert f"partitions: {good.partition}, acknowledgements" in threads.values()


def test_times_are_whole_microseconds_after_the_beginning(good: Copy) -> None:
    run = whole_run(good.run_dir)
    assert run.timeline is not None
    length_us = run.timeline.length_s * 1e6
    for event in events(as_trace([run])):
        assert isinstance(event["ts"], int)
        assert 0 <= event["ts"] <= event["ts"] + event.get("dur", 0) <= length_us + 1
        assert {"ph", "name", "pid", "tid", "ts"} <= event.keys()


def test_slices_of_one_thread_do_not_overlap(good: Copy) -> None:
    """Overlapping slices that are not nested are drawn wrongly, or dropped."""
    by_thread: dict[int, list[tuple[int, int]]] = {}
    for event in events(as_trace([whole_run(good.run_dir)])):
        if event["ph"] == "X":
            by_thread.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for slices in by_thread.values():
        ordered = sorted(slices)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ordered))


def test_each_run_is_a_process_and_one_without_a_timeline_is_none(good: Copy) -> None:
    run = whole_run(good.run_dir)
    found = events(as_trace([run, replace(run, timeline=None), run]))
    names = {event["pid"]: event["args"]["name"] for event in found if event["name"] == "process_name"}
    assert set(names) == {1, 3}
    assert names[1].startswith("Leader killed (seed 1")
