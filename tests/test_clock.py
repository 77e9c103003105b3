"""Waiting: what is returned, what a timeout says, and that a stop ends it."""

from __future__ import annotations

import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.clock import NS_PER_S, Deadline, ManualClock, MonotonicClock, wait_until
from chaoskafka.errors import Interrupted, WaitTimeout


@given(true_after=st.integers(0, 40), within_s=st.floats(0.0, 10.0))
def test_a_wait_returns_the_first_good_reading_or_says_what_it_last_saw(true_after: int, within_s: float) -> None:
    clock = ManualClock()
    readings = iter(range(10_000))

    def wait() -> int:
        return wait_until(
            "the count", read=lambda: next(readings), good=lambda n: n >= true_after, within_s=within_s, every_s=0.5,
            clock=clock,
        )  # fmt: skip

    last_reading = math.ceil(within_s / 0.5)  # taken at or after the deadline
    if true_after <= last_reading:
        assert wait() == true_after
        assert clock.now_ns() == int(true_after * 0.5 * NS_PER_S)
    else:
        with pytest.raises(WaitTimeout, match=rf"the count; last saw {last_reading}"):
            wait()


def test_an_error_of_the_reader_is_not_swallowed() -> None:
    def read() -> int:
        raise KeyError("broken reader")

    with pytest.raises(KeyError, match="broken reader"):
        wait_until("anything", read=read, good=lambda _: True, within_s=1, clock=ManualClock())


def test_a_stop_ends_a_pause_and_a_wait() -> None:
    stop = threading.Event()
    stop.set()
    clock = MonotonicClock(stop)
    with pytest.raises(Interrupted):
        clock.pause(3600)
    with pytest.raises(Interrupted):
        wait_until("never", read=lambda: False, good=bool, within_s=3600, clock=clock)


def test_a_deadline_never_has_negative_time_left() -> None:
    clock = ManualClock()
    deadline = Deadline.after(2.0, clock)
    assert deadline.left_s(clock) == 2.0
    clock.pause(5.0)
    assert deadline.left_s(clock) == 0.0
