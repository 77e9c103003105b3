"""Time: one monotonic clock for everything that is measured, and the only way to wait.

Instants are `time.monotonic_ns()`, comparable between all processes and containers of one Linux host (they share
CLOCK_MONOTONIC and the boot id). Wall time is for people and for records that Kafka stamped.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar

import tenacity

from chaoskafka.errors import Interrupted, WaitTimeout

T = TypeVar("T")

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
EVERY_S = 0.05  # a poll of a broker or the engine costs 1-5 ms: 20 a second are not felt, and add 25 ms on average


class Clock(Protocol):
    """A source of instants and pauses; tests use a manual one."""

    def now_ns(self) -> int: ...
    def pause(self, seconds: float) -> None: ...


class MonotonicClock:
    """The real clock. A pause ends early, by `Interrupted`, when the stop event is set."""

    def __init__(self, stop: threading.Event | None = None) -> None:
        self._stop = stop or threading.Event()

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def pause(self, seconds: float) -> None:
        if self._stop.wait(max(0.0, seconds)):
            raise Interrupted("interrupted while waiting")


class ManualClock:
    """A clock for tests: time passes only in `pause`."""

    def __init__(self, now_ns: int = 0) -> None:
        self._now_ns = now_ns

    def now_ns(self) -> int:
        return self._now_ns

    def pause(self, seconds: float) -> None:
        self._now_ns += int(seconds * NS_PER_S)


UNSTOPPABLE = MonotonicClock()
"""For cleanup and heals: no stop event cuts it short, only its own deadlines do."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """An instant after which to give up."""

    at_ns: int

    @classmethod
    def after(cls, seconds: float, clock: Clock = UNSTOPPABLE) -> Deadline:
        return cls(clock.now_ns() + int(seconds * NS_PER_S))

    def left_s(self, clock: Clock = UNSTOPPABLE) -> float:
        """Seconds left, never negative."""
        return max(0.0, (self.at_ns - clock.now_ns()) / NS_PER_S)


def wait_until(  # noqa: PLR0913 - each keyword is a real choice of the caller
    what: str,
    *,
    read: Callable[[], T],
    good: Callable[[T], bool],
    within_s: float,
    every_s: float = EVERY_S,
    clock: Clock = UNSTOPPABLE,
    describe: Callable[[T], str] = repr,
) -> T:
    """Read until `good(reading)`, and return that reading. Blocks.

    The last reading is taken at or after the deadline, so a condition that came true in time is never missed. An error
    raised by `read` is not swallowed: readers turn expected failures into values.

    Raises WaitTimeout (what was awaited, how long, what was last seen) and, with a stoppable clock, Interrupted.
    """
    started_ns = clock.now_ns()

    def expired(_: tenacity.RetryCallState) -> bool:
        return clock.now_ns() - started_ns >= within_s * NS_PER_S

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda reading: not good(reading)),
        wait=tenacity.wait_fixed(every_s),
        stop=expired,
        sleep=clock.pause,
        reraise=True,
    )
    try:
        return retrying(read)
    except tenacity.RetryError as spent:
        seen = describe(spent.last_attempt.result())
        raise WaitTimeout(f"waited {within_s:.1f} s for {what}; last saw {seen}") from None


def boot_id() -> str:
    """Names this boot of this host: monotonic instants compare only where it is equal."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.exists() else f"unknown-{socket.gethostname()}"


def clock_id() -> str:
    """Names the clock that instants were read from."""
    return f"CLOCK_MONOTONIC:{boot_id()}"


def utc_now() -> datetime:
    """Wall time, for people."""
    return datetime.now(UTC)
