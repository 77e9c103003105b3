"""How a worker is stopped: SIGTERM or SIGINT, fetched while pausing; and a guard against a close that hangs."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_ASKING = (signal.SIGTERM, signal.SIGINT)


class Stop(Protocol):
    """Pauses, and knows whether the worker was asked to end."""

    def pause(self, seconds: float) -> bool:
        """Wait so long, or until asked to end. True, from then on, when asked."""
        ...


class SignalStop:
    """The signals are blocked and fetched, not handled: no handler runs inside a client's callback, none gets lost."""

    def __init__(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ASKING)
        self._asked = False

    def pause(self, seconds: float) -> bool:
        if not self._asked:
            self._asked = signal.sigtimedwait(_ASKING, max(0.0, seconds)) is not None
        else:
            # Asked already; a second signal does not shorten the drain, which has a bound of its own.
            signal.sigtimedwait(_ASKING, max(0.0, seconds))
        return self._asked


@contextmanager
def hang_guard(within_s: float, exit_code: int) -> Iterator[None]:
    """Leave the process by force when the body takes longer. What must survive is on disk before it begins."""
    guard = threading.Timer(within_s, os._exit, args=(exit_code,))
    guard.daemon = True
    guard.start()
    try:
        yield
    finally:
        guard.cancel()
        guard.join()
