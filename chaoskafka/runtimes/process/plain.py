"""A node without what a namespace gives: an address, a directory as its disk, and Kafka's process with them.

In go a node's spec, its place and the supervisor; out comes a PlainNode with what signals can do. Address and disk
survive the death of Kafka, because only the process dies.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import Deed, Knock, NodeState
from chaoskafka.cluster.config import LOG_DIR, METADATA_LOG
from chaoskafka.cluster.spec import NodeSpec
from chaoskafka.errors import CommandFailed, FaultFailed, WaitTimeout
from chaoskafka.runtimes.knocking import KNOCK, knock_words
from chaoskafka.runtimes.process.control import Supervised
from chaoskafka.runtimes.process.layout import Layout
from chaoskafka.runtimes.removal import Removal

KNOCK_ENDS_S = 10.0  # beyond its own time, for a Python interpreter to start and to end on a starved machine
TAIL_BYTES = 1 << 18  # read from the log's end: lines of some hundred bytes, of which a few hundred are asked for

SIGNALLED = 128  # 128 + n tells a death by signal n, as shells and container engines report it


class PlainNode:
    """CanStart, CanKill, CanStop, CanPause and HasLog, by signals."""

    def __init__(
        self, inside: Supervised, spec: NodeSpec, *, layout: Layout, argv: Sequence[str], env: Mapping[str, str]
    ) -> None:
        self._inside, self._spec, self._layout = inside, spec, layout
        self._argv, self._env = list(argv), dict(env)
        self._ending: str | None = None  # started_at of the process that we told to end last

    def __repr__(self) -> str:
        return self._spec.name

    @property
    def spec(self) -> NodeSpec:
        return self._spec

    @property
    def address(self) -> str:
        return self._layout.address(self._spec)

    @property
    def _at(self) -> Path | None:
        return self._layout.at(self._spec.name)

    @property
    def log_file(self) -> Path:
        """What Kafka wrote, of all its starts."""
        return self._layout.kafka_log(self._spec)

    @property
    def metadata_log(self) -> Path:
        """Its copy of the metadata log."""
        return self._layout.disk(self._spec) / PurePosixPath(METADATA_LOG).relative_to(LOG_DIR)

    def state(self) -> NodeState:
        """Blocks for one question to the supervisor. Raises EnvironmentFailure."""
        seen = self._inside.ask("state", name=self._spec.name)
        code = seen["code"]
        return NodeState(
            running=code is None,
            exit_code=SIGNALLED - code if code is not None and code < 0 else code,
            started_at=seen["started_at"],
            frozen=seen["frozen"],
        )

    def knock(
        self,
        port: int,
        *,
        at: str | None = None,
        speak: bool = False,
        within_s: float = 1.0,
        until: Knock | None = None,
    ) -> Knock:
        """Connect by a process where the node's own runs. Blocks for `within_s` and a Python's start."""
        words = knock_words(
            port, at=at or (None if self._at else self.address), speak=speak, within_s=within_s, until=until
        )
        argv = [sys.executable, "-I", "-c", KNOCK, *words]
        done = self._inside.run(argv, at=self._at, within_s=within_s + KNOCK_ENDS_S)
        if done.code != 0 or done.stdout.strip() not in {knock.value for knock in Knock}:
            raise CommandFailed(f"knock on port {port} beside {self._spec.name}", done.code, done.output)
        return Knock(done.stdout.strip())

    def start(self, *, within_s: float) -> Deed:
        """Start Kafka; a running one is left alone. Blocks until a process that we told to end has ended.

        A new process that ends by itself is for those to notice who wait for it to answer. Raises WaitTimeout when the
        old one does not end, and EnvironmentFailure.
        """
        what, log = f"start of {self._spec.name}", str(self.log_file)
        if self._ending is not None:
            self._await_end(within_s)
        answer = self._inside.ask(
            "start",
            name=self._spec.name,
            argv=self._argv,
            env=self._env,
            cwd=str(self._layout.node(self._spec)),
            at=self._at and str(self._at),
            stdout=log,
            stderr=log,
        )
        acted_ns = time.monotonic_ns()
        if answer["was_running"]:
            return Deed(what=what, means="it was running", acted_ns=acted_ns)
        return Deed(what=what, means=f"process {answer['pid']}", acted_ns=acted_ns)

    def kill(self) -> Deed:
        """SIGKILL; returns once it was sent. Raises FaultFailed when there is no process to kill."""
        return self._signal(signal.SIGKILL)

    def terminate(self) -> Deed:
        """SIGTERM; returns once it was sent. Raises FaultFailed when there is no process."""
        return self._signal(signal.SIGTERM)

    def pause(self) -> Deed:
        """SIGSTOP, which no process can refuse; the kernel goes on accepting connections for it."""
        return self._signal(signal.SIGSTOP)

    def resume(self) -> Deed:
        """SIGCONT. Harmless to one that runs or has ended."""
        try:
            return self._signal(signal.SIGCONT)
        except FaultFailed:
            return Deed(what=f"SIGCONT to {self._spec.name}", means="it had ended", acted_ns=time.monotonic_ns())

    def tail(self, lines: int) -> str:
        """The last lines of Kafka's log, of all its starts. Raises EnvironmentFailure."""
        try:
            with self.log_file.open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
                return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
        except OSError as unreadable:
            raise CommandFailed(f"reading the log of {self._spec.name}", None, str(unreadable)) from unreadable

    def stop(self, *, within_s: float) -> NodeState:
        """SIGTERM, then SIGKILL after `within_s`. Blocks until it has ended. Harmless when it is not running."""
        for number, wait_s in ((signal.SIGTERM, within_s), (signal.SIGKILL, KNOCK_ENDS_S)):
            if self.state().running:
                with suppress(FaultFailed, WaitTimeout):  # it ended meanwhile; or it does not, and is killed
                    self._signal(number)
                    self.resume()  # a frozen one does not hear SIGTERM
                    self._await_end(wait_s)
        return self.state()

    def restore(self, *, within_s: float) -> None:
        """Take back whatever was done to it. Blocks. Tries everything; raises the first error, others as notes."""
        with Removal() as steps:  # last first
            steps.add(f"starting {self._spec.name}", lambda: self.start(within_s=within_s))
            steps.add(f"resuming {self._spec.name}", self.resume)

    def _signal(self, number: signal.Signals) -> Deed:
        what = f"{number.name} to Kafka on {self._spec.name}"
        if number in (signal.SIGKILL, signal.SIGTERM):
            self._ending = self.state().started_at
        answer = self._inside.ask("signal", name=self._spec.name, signal=int(number))
        if not answer["sent"]:
            raise FaultFailed(f"{what}: it is not running")
        where = "of the run's namespace" if self._at else "of this machine"
        means = f"pidfd_send_signal to process {answer['pid']} {where}"
        return Deed(what=what, means=means, acted_ns=answer["acted_ns"])

    def _await_end(self, within_s: float) -> None:
        """Of the process that we told to end. Raises WaitTimeout."""
        wait_until(
            f"Kafka on {self._spec.name} to end",
            read=self.state,
            good=lambda seen: not seen.running or seen.started_at != self._ending,
            within_s=within_s,
        )
        self._ending = None
