"""The numbered phases of a run, and the clock that all of them wait on.

In: events to write, somebody to tell, a stop, perhaps a deadline for the whole run. Out: a `phase` event at each
beginning and end.
"""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum

from chaoskafka.clock import NS_PER_S, Deadline
from chaoskafka.errors import EnvironmentFailure, Interrupted, RunTimeout, told
from chaoskafka.history.events import EventLog
from chaoskafka.progress import Progress

TICK_S = 0.5  # how often a long pause shows what is going on
_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last: the terminal was closed


class Phase(IntEnum):
    """What a run does, in this order. A stop or an error leads from anywhere to RESTORE, GATHER and REMOVE."""

    PLAN = 1
    PREFLIGHT = 2
    OPEN = 3
    FORM = 4
    TOPICS = 5
    LOAD = 6
    PLAY = 7
    RESTORE = 8
    RECOVER = 9
    DRAIN = 10
    AUDIT = 11
    GATHER = 12
    REMOVE = 13
    JUDGE = 14
    REPORT = 15

    @property
    def title(self) -> str:
        return _TITLES[self]


_TITLES = {
    Phase.PLAN: "load and plan",
    Phase.PREFLIGHT: "check abilities and preflight",
    Phase.OPEN: "open the runtime",
    Phase.FORM: "wait until formed",
    Phase.TOPICS: "create topics",
    Phase.LOAD: "start observer and workloads",
    Phase.PLAY: "play the plan",
    Phase.RESTORE: "restore everything",
    Phase.RECOVER: "wait until recovered",
    Phase.DRAIN: "stop producing, drain, seal",
    Phase.AUDIT: "audit",
    Phase.GATHER: "stop Kafka, gather logs",
    Phase.REMOVE: "remove",
    Phase.JUDGE: "judge",
    Phase.REPORT: "report",
}


class Phases:
    """Writes each phase down. `begun` holds those that ever began, `failed` is the latest that an error left."""

    def __init__(self, events: EventLog, progress: Progress) -> None:
        self._events, self._progress = events, progress
        self.begun: set[Phase] = set()
        self.failed: Phase | None = None

    @contextmanager
    def phase(self, which: Phase) -> Iterator[None]:
        """One phase; an error that leaves it is written down and goes on."""
        self.begun.add(which)
        facts = {"number": int(which), "name": which.title}
        try:
            self._events.write("phase", state="begin", **facts)
            self._progress.phase(int(which), which.title)
            yield
        except BaseException as left:
            self.failed = which
            with suppress(EnvironmentFailure):  # no room for the event: that must not hide why the phase was left
                self._events.write("phase", state="end", **facts, error=f"{type(left).__name__}: {told(left)}")
            raise
        try:
            self._events.write("phase", state="end", **facts)
        except EnvironmentFailure:
            self.failed = which
            raise


class RunClock:
    """Waits end with Interrupted when a stop was asked for, and with RunTimeout when the whole run's time is up."""

    def __init__(self, stop: threading.Event, *, timeout_s: float | None, on_tick: Callable[[], None]) -> None:
        self._stop, self._timeout_s, self._on_tick = stop, timeout_s, on_tick
        self._deadline = Deadline.after(timeout_s) if timeout_s is not None else None

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def pause(self, seconds: float) -> None:
        end_ns = self.now_ns() + int(max(0.0, seconds) * NS_PER_S)
        while True:
            left_s = (end_ns - self.now_ns()) / NS_PER_S
            if self._stop.wait(min(TICK_S, max(0.0, left_s))):
                raise Interrupted("stopped by Ctrl-C, SIGTERM or SIGHUP")
            if self._deadline is not None and self._deadline.left_s() <= 0:
                raise RunTimeout(f"the whole run took longer than its --timeout-s of {self._timeout_s:g} s")
            self._on_tick()
            if self.now_ns() >= end_ns:
                return


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Between runs SIGTERM and SIGHUP end the command as Ctrl-C does, by KeyboardInterrupt: nothing is to be removed.

    What somebody else handles or ignores stays so; outside the main thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in _ASKING if signal.getsignal(number) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def stop_on_signals(progress: Progress, stop: threading.Event | None = None) -> Iterator[threading.Event]:
    """An event that Ctrl-C, SIGTERM and SIGHUP set. Waits notice it and leave; heals and removals do not look.

    `stop`: the event, where several sections share one.
    A SIGHUP that is ignored when this begins (nohup) stays ignored. Outside the main thread signals cannot be caught:
    then nothing sets the event.
    """
    stop = stop or threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    # Nothing is done in the handlers themselves: they run in the middle of whatever the main thread does, and both the
    # event and the progress have locks that it may be holding. The interpreter passes each signal's number to a thread.
    here, there = socket.socketpair()
    there.settimeout(0)
    watcher = threading.Thread(target=_watch, args=(here, stop, progress), name="signals", daemon=True)
    caught = [number for number in _ASKING if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    # Handlers come after the wake-up and go before it: what they catch in between would reach nobody.
    wakeup = signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
    watcher.start()
    before = {number: signal.signal(number, lambda *_: None) for number in caught}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        there.close()  # ends the watcher, once it has read what came before
        watcher.join()
        here.close()


def _watch(numbers: socket.socket, stop: threading.Event, progress: Progress) -> None:
    while received := numbers.recv(64):
        for number in received:
            if number in _ASKING:
                still = "still " if stop.is_set() else ""
                stop.set()
                name = signal.Signals(number).name
                progress.note(f"{name}: {still}restoring, gathering and removing; please wait")
