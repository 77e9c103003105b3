from __future__ import annotations

import polars as pl
import pytest

from chaoskafka.timing.gaps import longest_gap, resolution_s
from chaoskafka.timing.spans import Span, Stall, Stalls, after, deed_of
from chaoskafka.timing.successes import SUCCESS
from chaoskafka.timing.times import Interval
from tests.timing.windows import S, window

QUIET = Stalls()


def successes(*instants: tuple[float, float]) -> pl.DataFrame:
    rows = [{"lo_ns": int(lo * S), "hi_ns": int(hi * S)} for lo, hi in instants]
    return pl.DataFrame(rows, schema=SUCCESS)


def test_the_ends_of_a_gap_are_as_uncertain_as_its_successes() -> None:
    gap = longest_gap("c", successes((9.0, 9.2), (14.0, 14.5)), window(10, 20), 14 * S, QUIET)
    assert gap.length == Interval(lo_s=pytest.approx(4.8), hi_s=pytest.approx(5.5))
    assert gap.starts_s == pytest.approx(-0.8)
    assert not gap.open


def test_a_later_callback_may_tell_of_an_earlier_success() -> None:
    """Callbacks come in order, the successes they tell of need not: each end takes the most careful of all."""
    seen = successes((9.0, 9.2), (14.3, 14.4), (11.0, 15.0))
    gap = longest_gap("c", seen, window(10, 20), 15 * S, QUIET)
    assert gap.length.lo_s == pytest.approx(1.8)


def test_gaps_outside_the_window_do_not_count() -> None:
    seen = successes((1, 1), (9, 9), (11, 11), (12, 12), (40, 40))
    assert longest_gap("c", seen, window(10, 11.5), 40 * S, QUIET).length.hi_s == pytest.approx(2)
    assert longest_gap("c", seen, window(10, 12.5), 40 * S, QUIET).length.hi_s == pytest.approx(28)


def test_the_open_gap_at_the_end_counts() -> None:
    gap = longest_gap("c", successes((9, 9), (10.5, 10.5)), window(10, 20), 60 * S, QUIET)
    assert gap.open
    assert gap.length.lo_s == pytest.approx(49.5)


def test_an_unhealed_fault_lasts_to_the_end() -> None:
    gap = longest_gap("c", successes((9, 9), (11, 11), (20, 20)), window(10, None), 21 * S, QUIET)
    assert gap.length.lo_s == pytest.approx(9)


def test_no_success_at_all_is_an_open_gap_from_the_fault_on() -> None:
    gap = longest_gap("c", successes(), window(10, 20), 30 * S, QUIET)
    assert gap.open
    assert gap.length == Interval(lo_s=20.0, hi_s=20.0)
    assert gap.resolution_s == 0


def test_a_client_last_heard_of_before_the_fault_has_an_open_gap() -> None:
    gap = longest_gap("c", successes((3, 3), (4, 4)), window(10, 20), 4 * S, QUIET)
    assert gap.open


def test_the_resolution_is_the_usual_distance_before_the_fault() -> None:
    every_100_ms = [(i / 10, i / 10) for i in range(100)]
    assert resolution_s(successes(*every_100_ms), 10 * S) == pytest.approx(0.1)
    with_a_pause = every_100_ms[:50] + [(lo + 2, hi + 2) for lo, hi in every_100_ms[50:]]
    assert resolution_s(successes(*with_a_pause, (11.999, 11.999)), 12 * S) < 0.2
    assert resolution_s(successes(*every_100_ms[:3], (5, 5)), 6 * S) == pytest.approx(4.8)


def test_the_resolution_of_one_success_is_all_the_time_since() -> None:
    assert resolution_s(successes((4, 4)), 10 * S) == pytest.approx(6)


def test_an_instant_is_counted_from_the_deed_and_never_negative() -> None:
    stalls = Stalls((Stall(12 * S, 13 * S, S),))
    assert after(Span(9 * S, 11 * S), Span(10 * S, 10 * S), stalls) == Interval(lo_s=0, hi_s=1)
    assert after(Span(14 * S, 15 * S), Span(10 * S, 10 * S), stalls) == Interval(lo_s=3, hi_s=5)


def test_a_deed_that_took_time_was_done_in_between() -> None:
    """A signal through an engine: sent some time after it was asked for, answered when the death was seen."""
    assert deed_of(window(10, 20, asked_s=9.5)) == Span(int(9.5 * S), 10 * S)
    assert deed_of(window(10, 20)) == Span(10 * S, 10 * S)
    seen = after(Span(13 * S, int(13.1 * S)), deed_of(window(10, 20, asked_s=9.5)), QUIET)
    assert seen == Interval(lo_s=pytest.approx(3.0), hi_s=pytest.approx(3.6))


def test_without_any_success_the_gap_begins_with_the_deed_whenever_that_was() -> None:
    gap = longest_gap("c", successes(), window(10, 20, asked_s=9.5), 15 * S, QUIET)
    assert gap.length == Interval(lo_s=pytest.approx(5.0), hi_s=pytest.approx(5.5))
