"""Several runs at once, each a process in a session of its own. In: what to play, and the room for it. Out: endings.

A terminal's Ctrl-C reaches only who started them, so each is told once, by SIGTERM, and restores and removes as it
would alone. None outlives this module: one that does not end in time is killed, and `chaoskafka heal` removes what
it left.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Protocol

from chaoskafka.clock import NS_PER_S, Deadline
from chaoskafka.errors import ExitCode
from chaoskafka.fleet.child import Order
from chaoskafka.fleet.outcome import Asked, Ended
from chaoskafka.fleet.room import Room, need_of
from chaoskafka.phases import Phase
from chaoskafka.progress import Progress

LOOK_S = 0.2  # how soon a stop is noticed while nobody says anything
# For all of them to end once they were told: a stop of Kafka, logs, removal; 5 to 10 s alone, each with its own limits.
ENDS_S = 300.0
KILLED_S = 10.0  # for the last lines of those that were killed
GONE_S = 60.0  # for a process that has closed its output to be gone; an instant, unless the machine swaps
TAIL_BYTES = 4000  # of what a process that died had on its stderr: a traceback fits
CHILD = (sys.executable, "-m", "chaoskafka.fleet.child")


class Board(Protocol):
    """Where several runs are shown."""

    def open(self, label: str) -> Progress: ...
    def close(self, progress: Progress) -> None: ...
    def note(self, text: str) -> None: ...


@dataclass(slots=True, kw_only=True)
class _Child:
    """One run on its way."""

    asked: Asked
    need: Room
    progress: Progress
    process: subprocess.Popen[str]
    errors: IO[bytes]
    started_ns: int = field(default_factory=time.monotonic_ns)
    phase: int = 0
    said: dict[str, Any] | None = None  # its last line
    reader: threading.Thread | None = None

    def hear(self, line: dict[str, Any]) -> None:
        if "phase" in line:
            self.phase = line["phase"]
            self.progress.phase(line["phase"], line["name"])
        elif "status" in line:
            self.progress.status(line["status"])
        elif "note" in line:
            self.progress.note(line["note"])
        else:
            self.said = line

    def ended(self, *, stopped: bool) -> Ended:
        """Once it has ended. What says nothing of its ending died, and how it died says whose doing that was."""
        duration_s = (time.monotonic_ns() - self.started_ns) / NS_PER_S
        code, run_dir, problem = self._died(stopped=stopped), None, self._last_words()
        if self.said is not None:
            code, problem = ExitCode(self.said["ended"]), self.said["problem"]
            run_dir = Path(self.said["run_dir"]) if self.said["run_dir"] else None
        return Ended(asked=self.asked, code=code, run_dir=run_dir, duration_s=duration_s, problem=problem)

    def _died(self, *, stopped: bool) -> ExitCode:
        signalled = (self.process.returncode or 0) < 0
        if stopped and signalled:
            return ExitCode.INTERRUPTED
        if not signalled:
            return ExitCode.INTERNAL
        return ExitCode.UNKNOWN if self.phase >= Phase.PLAY else ExitCode.ENVIRONMENT

    def _last_words(self) -> str:
        size = self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, size - TAIL_BYTES))
        tail = self.errors.read().decode(errors="replace").strip()
        code = self.process.returncode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        died = f"the process of this run ended {how}; what it left is removed by: chaoskafka heal"
        return f"{died}\n{tail}".strip()


Orders = Callable[[Asked], Order]


@dataclass(slots=True, kw_only=True)
class Fleet:
    """Plays runs, so many at once as are allowed and fit. `on_end` is called for each, in the order of their ends."""

    jobs: int
    room: Room
    runtime: str
    orders: Orders
    board: Board
    stop: threading.Event
    on_end: Callable[[Ended], None]
    fail_fast: bool = False
    _running: list[_Child] = field(default_factory=list)
    _lines: queue.SimpleQueue[tuple[_Child, dict[str, Any] | None]] = field(default_factory=queue.SimpleQueue)
    _told: bool = False  # that fewer are played at once than were allowed

    def play(self, asked: Sequence[Asked]) -> None:
        """Blocks until all have ended. Those that were not started, after a stop or a failure, end as not played."""
        waiting = deque(asked)
        failed = False
        with self._nobody_left():
            while self._running or (waiting and not self.stop.is_set() and not failed):
                if self.stop.is_set():
                    self._interrupt()
                    continue
                while waiting and not failed and self._fits(waiting[0]):
                    self._start(waiting.popleft())
                for ended in self._hear(LOOK_S):
                    failed = failed or (self.fail_fast and ended.code is not ExitCode.PASS)
        for left in waiting:
            self.on_end(Ended(asked=left, code=None, problem="not played: the call ended before its turn"))

    def _fits(self, asked: Asked) -> bool:
        """One alone always does: whether the machine carries it the run itself finds out."""
        if not self._running:
            return True
        if len(self._running) >= self.jobs:
            return False
        needed = sum((child.need for child in self._running), need_of(asked.scenario, self.runtime))
        fits = self.room.carries(needed)
        if not fits and not self._told:
            self._told = True
            count = len(self._running)
            self.board.note(
                f"{count} at once, not {self.jobs}: with {asked.name} they may use {needed}, and there are {self.room}"
            )
        return fits

    def _start(self, asked: Asked) -> None:
        errors = TemporaryFile()  # noqa: SIM115 - closed when the child has ended
        # In a session of its own, or a terminal would interrupt it as well, and it would be told twice.
        process = subprocess.Popen(
            CHILD,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        child = _Child(
            asked=asked,
            need=need_of(asked.scenario, self.runtime),
            progress=self.board.open(asked.label),
            process=process,
            errors=errors,
        )
        self._running.append(child)
        assert process.stdin is not None
        with suppress(OSError), process.stdin:  # one that died at once is told of as any that dies
            process.stdin.write(self.orders(asked).to_json())
        child.reader = threading.Thread(target=self._read, args=(child,), name=f"run {asked.label}", daemon=True)
        child.reader.start()

    def _read(self, child: _Child) -> None:
        assert child.process.stdout is not None
        with child.process.stdout as lines:
            for text in lines:
                with suppress(ValueError):  # half a line of a process that was killed
                    self._lines.put((child, json.loads(text)))
        self._lines.put((child, None))

    def _hear(self, within_s: float) -> Iterator[Ended]:
        """What is said within a while, and the runs that have ended."""
        try:
            child, line = self._lines.get(timeout=within_s)
        except queue.Empty:
            return
        if line is not None:
            child.hear(line)
        elif child in self._running:  # not given up meanwhile
            yield self._close(child)

    def _close(self, child: _Child) -> Ended:
        """It has closed its output, as the last thing it does; or it was killed, and is given up."""
        try:
            child.process.wait(GONE_S)
        except subprocess.TimeoutExpired:
            child.process.kill()
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(GONE_S)
        assert child.reader is not None
        child.reader.join(KILLED_S)  # what it told us was the last that it does
        self._running.remove(child)
        self.board.close(child.progress)
        ended = child.ended(stopped=self.stop.is_set())
        child.errors.close()
        self.on_end(ended)
        return ended

    def _interrupt(self) -> None:
        """Tell all of them, once, and wait. Those that do not end in time are killed.

        Then nothing is waited for but the process itself: whatever it started may hold its output open for ever.
        """
        for child in self._running:
            child.process.terminate()
        self._hear_all(ENDS_S)
        for child in self._running:
            child.process.kill()
        self._hear_all(KILLED_S)
        for child in list(self._running):
            self._close(child)

    def _hear_all(self, within_s: float) -> None:
        """Until all have ended, or the time is up."""
        deadline = Deadline.after(within_s)
        while self._running and deadline.left_s() > 0:
            for _ in self._hear(LOOK_S):
                pass

    @contextmanager
    def _nobody_left(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._running:  # an error of ours led here
                self._interrupt()
