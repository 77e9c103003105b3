"""The user's own application beside the traffic: any command, started, watched and ended. In: a command. Out: how it
does.

Where it stands decides what it sees. `host`: a process of this machine, with this machine's code, which reaches brokers
by published ports. `client`: a place on the cluster's own network, where a dead broker looks as it does to any client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import ClientProcess, ExitStatus
from chaoskafka.errors import UsageError, WaitTimeout
from chaoskafka.testing.guard import Guard

BOOTSTRAP = "KAFKA_BOOTSTRAP_SERVERS"
"""The variable that tells it where the brokers are."""

END_S = 15.0  # for it to end after SIGTERM; then it is killed
KILLED_S = 10.0  # for the kernel
TAIL_LINES = 20  # of its stderr, in an error

Status = Mapping[str, Any] | None


class Application:
    """A context manager. It may be killed and started again; one that ends unasked is a finding of `verify`."""

    def __init__(self, name: str, launch: Callable[[], ClientProcess], directory: Path, guard: Guard) -> None:
        self.name, self.directory = name, directory
        self._launch, self._guard = launch, guard
        self._process: ClientProcess | None = None
        self._asked = False  # to end
        self._ends: list[str] = []  # unasked ones, of processes before this one or before it was asked

    def start(self) -> Self:
        """Blocks until the process was started. Raises UsageError while it runs, EnvironmentFailure."""
        if self._process is not None and self._process.exited() is None:
            raise UsageError(f"application {self.name} runs already")
        self._remember()
        with self._guard.work():
            self._process, self._asked = self._launch(), False
        return self

    def __enter__(self) -> Self:
        return self.start() if self._process is None else self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.end()

    @property
    def exited(self) -> ExitStatus | None:
        """How it ended; None while it runs."""
        return self._running.exited()

    def latest(self) -> Status:
        """The newest line of its output that is a JSON object; None before the first."""
        return self._running.latest()

    def wait_until(self, what: str, good: Callable[[Status], bool], *, within_s: float = 60.0) -> None:
        """Until its newest status is `good`. Blocks. Raises WaitTimeout, at once when it has ended."""

        def read() -> Status:
            if (end := self.exited) is not None:
                raise WaitTimeout(f"application {self.name}: {what}: it ended: {end}{self._last_words()}")
            return self.latest()

        with self._guard.work():
            wait_until(
                f"application {self.name}: {what}", read=read, good=good, within_s=within_s, clock=self._guard.clock
            )

    def kill(self) -> None:
        """SIGKILL, as a machine that fails would. Blocks until it is dead."""
        self._remember()
        self._asked = True
        self._running.kill()
        self._running.wait(within_s=KILLED_S)

    def stop(self, *, within_s: float = END_S) -> ExitStatus:
        """SIGTERM. Blocks. Raises WaitTimeout when it does not end."""
        self._remember()
        self._asked = True
        self._running.terminate()
        return self._running.wait(within_s=within_s)

    def end(self) -> None:
        """Stop or kill it, and keep what it wrote in the run directory. Safe to call again."""
        if self._process is None:
            return
        with self._guard.undisturbed():
            try:
                if self._process.exited() is None:
                    self.stop()
            except WaitTimeout:
                self.kill()
            finally:
                self.collect()

    def collect(self) -> Path:
        """What it left in $CHAOSKAFKA_DIR, and its output, copied to the directory that is returned. Blocks."""
        self._running.collect(self.directory)
        return self.directory

    def ended_unasked(self) -> str:
        """How, each time, with its last words; empty: it only ever ended when it was asked to."""
        self._remember()
        return "\n".join(self._ends)

    def _remember(self) -> None:
        """An end that nobody asked for stays a finding, whatever the test does with the application then."""
        if self._process is None or self._asked or (end := self._process.exited()) is None:
            return
        self._asked = True  # this end is told once
        self._ends.append(f"application {self.name} ended by itself: {end}{self._last_words()}")

    def _last_words(self) -> str:
        path = self.collect() / "stderr.log"
        lines = path.read_text(errors="replace").splitlines()[-TAIL_LINES:] if path.exists() else []
        return "".join(f"\n  {line}" for line in lines)

    @property
    def _running(self) -> ClientProcess:
        if self._process is None:
            raise UsageError(f"application {self.name} was never started")
        return self._process
