"""How a run's progress looks: one live line on a terminal, plain lines elsewhere. In: `Progress` calls. Out: stderr.

Results go to stdout and progress to stderr, so that a report can be piped while a person watches.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from chaoskafka.clock import NS_PER_S, Clock, MonotonicClock
from chaoskafka.progress import Progress
from chaoskafka.visible import visible

STATUS_EVERY_S = 10.0  # plain status lines: a CI log of a ten-minute run stays below a hundred lines
REFRESH_PER_S = 4  # the eye wants no more, and two cores are shared with the cluster under test


class PlainProgress:
    """Lines with seconds since the start, and a label where several runs share the stream. Thread-safe."""

    def __init__(self, stream: TextIO, clock: Clock | None = None, label: str = "") -> None:
        self._stream = stream
        self._label = f"[{label}] " if label else ""
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
            self._stream.write(f"{since_s:7.1f} s  {self._label}{visible(text)}\n")
            self._stream.flush()
        except (OSError, ValueError):  # whoever watched is gone; the run goes on
            return


class LiveProgress:
    """One line that moves, below the lines that stay. Thread-safe: rich's Live locks.

    With a label, where several runs share the terminal, phases that are over leave no line.
    """

    def __init__(self, live: Live, clock: Clock | None = None, label: str = "") -> None:
        self._live, self._label = live, label
        self._clock = clock or MonotonicClock()
        self._phase_ns = self._clock.now_ns()
        self._phase = self._status = ""
        self._spinner = Spinner("dots")

    def phase(self, number: int, name: str) -> None:
        if self._phase and not self._label:
            self._live.console.print(Text(f"  done  {self._phase}  {self._since_s():.1f} s", style="dim"))
        self._phase, self._status, self._phase_ns = f"phase {number}: {name}", "", self._clock.now_ns()

    def status(self, text: str) -> None:
        self._status = text

    def note(self, text: str) -> None:
        said = f"{self._label}: {text}" if self._label else text
        self._live.console.print(Text(visible(said, keep="\n")))

    def __rich__(self) -> RenderableType:
        """The moving line, drawn anew by Live at its own pace."""
        label = f"{self._label}  " if self._label else ""
        line = f"{label}{self._phase}  {self._since_s():.0f} s  {visible(self._status)}"
        # Never more than a line each: several that wrap would fill the terminal, and Live cannot move back over them.
        self._spinner.update(text=Text(line, overflow="ellipsis", no_wrap=bool(self._label)))
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


class PlainBoard:
    """Several runs as plain lines, each with its label."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._own = PlainProgress(stream)

    def open(self, label: str) -> Progress:
        return PlainProgress(self._stream, label=label)

    def close(self, progress: Progress) -> None:
        """Its lines stay."""

    def note(self, text: str) -> None:
        self._own.note(text)

    def phase(self, number: int, name: str) -> None:
        """Each run has its own."""

    def status(self, text: str) -> None:
        """Each run has its own."""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While something else is written to the terminal."""
        yield


class LiveBoard:
    """Several runs on a terminal: one moving line each, below the lines that stay."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._lines: list[LiveProgress] = []

    def open(self, label: str) -> Progress:
        progress = LiveProgress(self._live, label=label)
        self._lines.append(progress)
        return progress

    def close(self, progress: Progress) -> None:
        self._lines = [line for line in self._lines if line is not progress]

    def note(self, text: str) -> None:
        self._live.console.print(Text(visible(text, keep="\n")))

    def phase(self, number: int, name: str) -> None:
        """Each run has its own."""

    def status(self, text: str) -> None:
        """Each run has its own."""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """The moving lines go while something else is written, and come back below it."""
        self._live.stop()
        try:
            yield
        finally:
            self._live.start(refresh=True)

    def __rich__(self) -> RenderableType:
        return Group(*self._lines)


@contextmanager
def shown_on(stream: TextIO | None = None) -> Iterator[Progress]:
    """Progress on stderr, live if that is a terminal."""
    stream = stream or sys.stderr
    with _live_on(stream) as live:
        progress = PlainProgress(stream) if live is None else LiveProgress(live)
        if live is not None:
            live.update(cast("RenderableType", progress))
        yield progress


@contextmanager
def several_on(stream: TextIO | None = None) -> Iterator[PlainBoard | LiveBoard]:
    """Progress of several runs on stderr, live if that is a terminal."""
    stream = stream or sys.stderr
    with _live_on(stream) as live:
        board = PlainBoard(stream) if live is None else LiveBoard(live)
        if live is not None:
            live.update(cast("RenderableType", board))
        yield board


@contextmanager
def _live_on(stream: TextIO) -> Iterator[Live | None]:
    """None where nothing can move."""
    console = Console(file=cast("TextIO", _Unfailing(stream)), highlight=False, markup=False, emoji=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield None
        return
    with Live(console=console, refresh_per_second=REFRESH_PER_S, transient=True, redirect_stdout=False) as live:
        yield live
