"""How a run's progress looks: one live line on a terminal, plain lines elsewhere. In: `Progress` calls. Out: stderr.

Results go to stdout and progress to stderr, so that a report can be piped while a person watches.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from chaoskafka.clock import NS_PER_S, Clock, MonotonicClock
from chaoskafka.progress import Progress
from chaoskafka.visible import visible

STATUS_EVERY_S = 10.0  # plain status lines: a CI log of a ten-minute run stays below a hundred lines
REFRESH_PER_S = 4  # the eye wants no more, and two cores are shared with the cluster under test


class PlainProgress:
    """Lines with seconds since the start. Thread-safe."""

    def __init__(self, stream: TextIO, clock: Clock | None = None) -> None:
        self._stream = stream
        self._clock = clock or MonotonicClock()
        self._started_ns = self._clock.now_ns()
        self._status_ns: int | None = None
        self._lock = threading.Lock()

    def phase(self, number: int, name: str) -> None:
        with self._lock:
            self._status_ns = None  # the first status of a phase is worth a line at once
            self._line(f"phase {number}: {name}")

    def status(self, text: str) -> None:
        with self._lock:
            now_ns = self._clock.now_ns()
            if self._status_ns is None or now_ns - self._status_ns >= STATUS_EVERY_S * NS_PER_S:
                self._status_ns = now_ns
                self._line(f"  {text}")

    def note(self, text: str) -> None:
        with self._lock:
            for line in text.splitlines():
                self._line(f"  {line}")

    def _line(self, text: str) -> None:
        since_s = (self._clock.now_ns() - self._started_ns) / NS_PER_S
        try:
            self._stream.write(f"{since_s:7.1f} s  {visible(text)}\n")
            self._stream.flush()
        except (OSError, ValueError):  # whoever watched is gone; the run goes on
            return


class LiveProgress:
    """One line that moves, below the lines that stay. Thread-safe: rich's Live locks."""

    def __init__(self, live: Live, clock: Clock | None = None) -> None:
        self._live = live
        self._clock = clock or MonotonicClock()
        self._phase_ns = self._clock.now_ns()
        self._phase = self._status = ""
        self._spinner = Spinner("dots")

    def phase(self, number: int, name: str) -> None:
        if self._phase:
            self._live.console.print(Text(f"  done  {self._phase}  {self._since_s():.1f} s", style="dim"))
        self._phase, self._status, self._phase_ns = f"phase {number}: {name}", "", self._clock.now_ns()

    def status(self, text: str) -> None:
        self._status = text

    def note(self, text: str) -> None:
        self._live.console.print(Text(visible(text, keep="\n")))

    def __rich__(self) -> RenderableType:
        """The moving line, drawn anew by Live at its own pace."""
        self._spinner.update(
            text=Text(f"{self._phase}  {self._since_s():.0f} s  {visible(self._status)}", overflow="ellipsis")
        )
        return self._spinner

    def _since_s(self) -> float:
        return (self._clock.now_ns() - self._phase_ns) / NS_PER_S


class _Unfailing:
    """A stream whose reader may go at any time, as a terminal that is closed: what cannot be written is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


@contextmanager
def shown_on(stream: TextIO | None = None) -> Iterator[Progress]:
    """Progress on stderr, live if that is a terminal."""
    stream = stream or sys.stderr
    console = Console(file=cast("TextIO", _Unfailing(stream)), highlight=False, markup=False, emoji=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield PlainProgress(stream)
        return
    with Live(console=console, refresh_per_second=REFRESH_PER_S, transient=True, redirect_stdout=False) as live:
        progress = LiveProgress(live)
        live.update(progress)
        yield progress
