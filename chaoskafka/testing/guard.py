"""Ctrl-C in tests: while something of ours is at work a signal only sets a stop, in a test's own code it ends the test.

In: sections of our own work. Out: KeyboardInterrupt at their end, which pytest answers by tearing everything down; what
tears down is a section too, so a second Ctrl-C cuts no removal short.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from chaoskafka.errors import Interrupted
from chaoskafka.phases import RunClock, stop_on_signals
from chaoskafka.progress import Progress


class Guard:
    """One per pytest process. `clock` is what all waits of tests use: a stop ends them."""

    def __init__(self, progress: Progress) -> None:
        self.stop = threading.Event()
        self.clock = RunClock(self.stop, timeout_s=None, on_tick=lambda: None)
        self._progress = progress
        self._inside = threading.local()

    @contextmanager
    def work(self) -> Iterator[None]:
        """A section that a stop ends. Raises KeyboardInterrupt when one was asked for, then or before."""
        if self._is_inside:
            yield
            return
        try:
            with self.undisturbed():
                yield
        except Interrupted as stopped:
            raise KeyboardInterrupt(str(stopped)) from stopped
        if self.stop.is_set():
            raise KeyboardInterrupt("stopped while chaoskafka was at work")

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """A section that goes on to its end: healing, removing."""
        if self._is_inside:
            yield
            return
        self._inside.now = True
        try:
            with stop_on_signals(self._progress, self.stop):
                yield
        finally:
            self._inside.now = False

    @property
    def _is_inside(self) -> bool:
        return getattr(self._inside, "now", False)
