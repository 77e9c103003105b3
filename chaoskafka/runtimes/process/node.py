"""A node: a network namespace with an address, a directory as its disk, and Kafka's process in them.

In go a node's spec, its place and the supervisor; out comes a ProcessNode with every ability that a node can have.
Namespace, address, rules and disk survive the death of Kafka, because only the process dies.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from chaoskafka.clock import wait_until
from chaoskafka.cluster import netrules
from chaoskafka.cluster.abilities import Deed, Knock, NodeState
from chaoskafka.cluster.config import LOG_DIR, METADATA_LOG
from chaoskafka.cluster.spec import NodeSpec
from chaoskafka.errors import CommandFailed, FaultFailed, WaitTimeout
from chaoskafka.runtimes.knocking import KNOCK, knock_words
from chaoskafka.runtimes.process.control import Done, Supervised
from chaoskafka.runtimes.process.layout import Layout
from chaoskafka.runtimes.removal import Removal

KNOCK_ENDS_S = 10.0  # beyond its own time, for a Python interpreter to start and to end on a starved machine
TAIL_BYTES = 1 << 18  # read from the log's end: lines of some hundred bytes, of which a few hundred are asked for

SIGNALLED = 128  # 128 + n tells a death by signal n, as shells and container engines report it


class ProcessNode:
    """CanStart, CanKill, CanStop, CanPause, CanPowerOff, CanPartition and HasLog, by signals and nft."""

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
    def namespace(self) -> Path:
        return self._layout.namespace(self._spec.name)

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
        """Connect by a process in the node's network namespace. Blocks for `within_s` and a Python's start."""
        words = knock_words(port, at=at, speak=speak, within_s=within_s, until=until)
        argv = [sys.executable, "-I", "-c", KNOCK, *words]
        done = self._inside.run(argv, at=self.namespace, within_s=within_s + KNOCK_ENDS_S)
        if done.code != 0 or done.stdout.strip() not in {knock.value for knock in Knock}:
            raise CommandFailed(f"knock on port {port} in the namespace of {self._spec.name}", done.code, done.output)
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
            at=str(self.namespace),
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

    def power_off(self) -> Deed:
        """Done once nothing passes any more. The rules come first, or the kernel would tell of the death.

        Raises FaultFailed when there is nothing to kill, CommandFailed and EnvironmentFailure.
        """
        dark = self.run_rules(netrules.cut_batch(netrules.POWER, netrules.Cut()))
        means = f"rules that drop all, then {self.kill().means}"
        return replace(dark, what=f"power off of {self._spec.name}", means=means)

    def power_on(self, *, within_s: float) -> Deed:
        """Let packets pass, and start Kafka. Idempotent. Raises as `start` does."""
        self.run_rules(netrules.lift_batch(netrules.POWER))
        return replace(self.start(within_s=within_s), what=f"power on of {self._spec.name}")

    def run_rules(self, batch: str) -> Deed:
        """A batch of nft commands, all or nothing. Raises CommandFailed."""
        done = self._run("nft", "-f", "-", stdin=batch)
        means = "nft in its network namespace"
        return Deed(what=f"rules of {self._spec.name}", means=means, asked_ns=done.began_ns, acted_ns=done.ended_ns)

    def rules(self) -> str:
        """Every table of ours as nft lists it, with what its rules counted. Raises CommandFailed."""
        return netrules.ours(self._run("nft", "list", "ruleset", "inet").stdout)

    def reset_connections(self, peers: Sequence[str]) -> int:
        """Returns how many connections were ended. Raises CommandFailed."""
        return len(self._run(*netrules.reset_command(peers)).stdout.splitlines())

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
            steps.add(f"lifting the rules of {self._spec.name}", self._lift_all)

    def _signal(self, number: signal.Signals) -> Deed:
        what = f"{number.name} to Kafka on {self._spec.name}"
        if number in (signal.SIGKILL, signal.SIGTERM):
            self._ending = self.state().started_at
        answer = self._inside.ask("signal", name=self._spec.name, signal=int(number))
        if not answer["sent"]:
            raise FaultFailed(f"{what}: it is not running")
        means = f"pidfd_send_signal to process {answer['pid']} of the run's namespace"
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

    def _lift_all(self) -> None:
        batches = map(netrules.lift_batch, netrules.tables(self.rules()))
        self.run_rules("".join(batches))

    def _run(self, *argv: str, stdin: str = "") -> Done:
        """Raises CommandFailed unless it ends with 0."""
        done = self._inside.run(argv, at=self.namespace, stdin=stdin)
        if done.code != 0:
            raise CommandFailed(f"{' '.join(argv)} in the namespace of {self._spec.name}", done.code, done.output)
        return done
