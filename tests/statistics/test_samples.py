"""Samples: one for each fault, the slowest subject's, by scenario, word and step."""

from __future__ import annotations

import pytest

from chaoskafka.statistics.samples import Sample, metrics
from chaoskafka.timing.times import Interval
from chaoskafka.verdict import Answer
from tests.statistics.made import result_of, step


def test_the_slowest_subject_of_each_fault_is_a_sample() -> None:
    first = result_of(1, [step("elect", (1.0, 1.2)), step("elect", (2.0, 2.2), subject="orders/1")])
    second = result_of(2, [step("elect", (3.0, 3.4)), step("elect", (9.0, 9.2), fault=1)], faults=("kill", "pause"))
    found = metrics([first, second])
    assert list(found) == ["killed/kill.elect", "killed/pause.elect"]
    assert found["killed/kill.elect"].values_s == pytest.approx([2.1, 3.2])
    assert [sample.subject for sample in found["killed/kill.elect"].samples] == ["orders/1", "orders/0"]


def test_a_step_that_nobody_saw_is_counted_and_is_no_sample() -> None:
    found = metrics([result_of(1, [step("elect", None)]), result_of(2, [step("elect", (1.0, 2.0))])])
    assert (len(found["killed/kill.elect"].samples), found["killed/kill.elect"].unseen) == (1, 1)


def test_when_one_subject_was_not_seen_the_slowest_is_not_known() -> None:
    found = metrics([result_of(1, [step("elect", (1.0, 1.2)), step("elect", None, subject="orders/1")])])
    assert (found["killed/kill.elect"].samples, found["killed/kill.elect"].unseen) == ((), 1)


def test_what_happens_outside_of_every_fault_and_other_scenarios_stand_apart() -> None:
    found = metrics(
        [
            result_of(1, [step("elect", (1.0, 2.0), fault=None)]),
            result_of(2, [step("elect", (1.0, 2.0))], scenario="paused", faults=("pause",)),
        ]
    )
    assert list(found) == ["killed/outside.elect", "paused/pause.elect"]
    metric = found["paused/pause.elect"]
    assert (metric.scenario, metric.of_fault, metric.step) == ("paused", "pause.elect", "elect")


@pytest.mark.parametrize(
    ("took", "bound", "stands"),
    [
        ((7.0, 7.5), (7.0, 9.0), Answer.PASS),
        ((6.0, 6.5), (7.0, 9.0), Answer.FAIL),
        ((9.1, 9.2), (7.0, 9.0), Answer.FAIL),
        ((8.9, 9.1), (7.0, 9.0), Answer.UNKNOWN),
        ((6.9, 7.1), (7.0, 9.0), Answer.UNKNOWN),
        ((7.0, 7.5), None, Answer.UNKNOWN),
    ],
)
def test_only_an_interval_wholly_inside_its_bound_is_inside(
    took: tuple[float, float], bound: tuple[float, float] | None, stands: Answer
) -> None:
    interval = Interval(lo_s=bound[0], hi_s=bound[1]) if bound else None
    sample = Sample(lo_s=took[0], hi_s=took[1], bound=interval, subject="", run_id="")
    assert sample.stands is stands
