"""Figures of samples: exact where they can be, sure only where there are enough, the same each time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.statistics.summary import COUNT_MIN, difference, summarise

SECONDS = st.floats(min_value=0, max_value=1000, allow_nan=False)


def test_figures_of_a_known_set() -> None:
    found = summarise([5.0, 1.0, 2.0, 3.0, 4.0])
    assert (found.count, found.min_s, found.median_s, found.max_s) == (5, 1.0, 3.0, 5.0)
    assert found.p90_s == pytest.approx(4.6)


@given(st.lists(SECONDS, min_size=1, max_size=8))
def test_figures_are_in_order_and_few_samples_are_never_sure(values: list[float]) -> None:
    found = summarise(values)
    assert found.min_s <= found.median_s <= found.max_s
    assert found.median_s <= found.p90_s or math.isclose(found.median_s, found.p90_s)
    assert (found.sure is None) is (len(values) < COUNT_MIN)
    if found.sure is not None:
        assert found.min_s <= found.sure[0] <= found.sure[1] <= found.max_s
        assert found == summarise(values)


def test_the_interval_of_the_median_holds_the_median_of_what_was_drawn_from() -> None:
    values = [1.0 + i / 100 for i in range(101)]  # evenly spread, so that the true median is 1.5
    sure = summarise(values).sure
    assert sure is not None
    assert 1.35 < sure[0] < 1.5 < sure[1] < 1.65


def test_a_real_shift_is_seen_and_none_is_none() -> None:
    before = [1.0 + i / 100 for i in range(30)]
    slower = difference(before, [2 * value for value in before])
    assert slower.ratio == pytest.approx(2.0)
    assert slower.ratio_sure is not None
    assert slower.seconds_sure is not None
    assert slower.ratio_sure[0] > 1.5
    assert slower.seconds_sure[0] > 0.5
    same = difference(before, before[::-1])
    assert same.seconds == 0
    assert same.ratio_sure is not None
    assert same.ratio_sure[0] < 1 < same.ratio_sure[1]


def test_a_ratio_to_nothing_is_none() -> None:
    found = difference([0.0] * 6, [1.0] * 6)
    assert (found.ratio, found.ratio_sure) == (None, None)
    assert difference([1.0], [2.0]).ratio_sure is None
