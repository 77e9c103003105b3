"""A node: a host container that owns address, ports and rules, and Kafka's container that joins it.

In go a node's spec, images and network; out comes a DockerNode with its abilities. Address, published port and disk
survive the death of Kafka because the host container and the volume do.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from docker.models.containers import Container

from chaoskafka.clock import Deadline, wait_until
from chaoskafka.cluster import netrules
from chaoskafka.cluster.abilities import Deed, Knock, NodeState
from chaoskafka.cluster.last_words import last_words
from chaoskafka.cluster.spec import NodeSpec
from chaoskafka.errors import CommandFailed, FaultFailed
from chaoskafka.runtimes.docker import netns, pids
from chaoskafka.runtimes.docker.containers import inspect, send_signal
from chaoskafka.runtimes.docker.engine import Engine, asking
from chaoskafka.runtimes.docker.freeze import freeze, is_frozen, thaw
from chaoskafka.runtimes.knocking import KNOCK, knock_words
from chaoskafka.runtimes.removal import Removal

_TAIL_LINES = 200  # searched for the first error; few of them are told


class DockerNode:
    """CanKill, CanStop, CanPause, CanPartition and CanPowerOff on Docker. Not for use by several threads at once."""

    def __init__(self, engine: Engine, spec: NodeSpec, *, host: Container, kafka: Container) -> None:
        self._engine, self._spec, self._host, self._kafka = engine, spec, host, kafka
        self._doomed: str | None = None  # started_at of the process that we killed, or asked to end, last

    def __repr__(self) -> str:
        return self._spec.name

    @property
    def spec(self) -> NodeSpec:
        return self._spec

    @property
    def host(self) -> Container:
        """Its host container, for this runtime's own modules."""
        return self._host

    @property
    def kafka(self) -> Container:
        """Kafka's container, for this runtime's own modules."""
        return self._kafka

    def state(self) -> NodeState:
        """Blocks for one request to the engine. Raises EnvironmentFailure."""
        found = inspect(self._engine, self._kafka)
        state = found["State"]
        return NodeState(
            running=state["Running"],
            exit_code=None if state["Running"] else state["ExitCode"],
            started_at=state["StartedAt"],
            out_of_memory=state["OOMKilled"],
            frozen=is_frozen(self._engine, found),
        )

    @property
    def address(self) -> str:
        """Its IP address on the run's network. Blocks for one request to the engine. Raises EnvironmentFailure."""
        networks = inspect(self._engine, self._host)["NetworkSettings"]["Networks"]
        return str(next(iter(networks.values()))["IPAddress"])

    def knock(
        self,
        port: int,
        *,
        at: str | None = None,
        speak: bool = False,
        within_s: float = 1.0,
        until: Knock | None = None,
    ) -> Knock:
        """Connect by a process that runs in the node's host container. Blocks for `within_s` and an exec.

        Without `speak` a frozen process answers too, since the kernel accepts for it. Raises EnvironmentFailure when
        the exec fails.
        """
        words = knock_words(port, at=at, speak=speak, within_s=within_s, until=until)
        with asking(f"knocking on port {port} of {at or self._spec.name}"):
            code, output = self._host.exec_run(["python3", "-c", KNOCK, *words])
        text = output.decode(errors="replace").strip() if isinstance(output, bytes) else ""
        if code != 0 or text not in {knock.value for knock in Knock}:
            raise CommandFailed(f"knock on port {port} in the host container of {self._spec.name}", code, text)
        return Knock(text)

    def kill(self) -> Deed:
        """SIGKILL Kafka's process, directly when the process is surely ours, otherwise through the engine.

        Returns once it was sent. Raises FaultFailed when there is no process to kill, and EnvironmentFailure.
        """
        return self._end(signal.SIGKILL, "kill")

    def terminate(self) -> Deed:
        """SIGTERM Kafka's process, by the same way as `kill`; it is the container's first, so no shell keeps it back.

        Returns once it was sent. Raises FaultFailed when there is no process to stop, and EnvironmentFailure.
        """
        return self._end(signal.SIGTERM, "stop")

    def start(self, *, within_s: float) -> Deed:
        """Start Kafka; a running one is left alone. Blocks until the engine reports a new process.

        The engine takes up to 0.8 s to notice a death, and a start before that reports success and does nothing; so a
        process that we killed, or asked to end, is first awaited to be reported dead. Raises WaitTimeout, CommandFailed
        when the new process ended at once, and EnvironmentFailure.
        """
        deadline = Deadline.after(within_s)
        before = wait_until(
            f"the engine to notice the death of Kafka on {self._spec.name}",
            read=self.state,
            good=lambda seen: not (seen.running and seen.started_at == self._doomed),
            within_s=within_s,
        )
        if before.running:
            return Deed(what=f"start of {self._spec.name}", means="it was running", acted_ns=time.monotonic_ns())
        with asking(f"starting Kafka on {self._spec.name}"):
            self._kafka.start()
        acted_ns = time.monotonic_ns()
        after = wait_until(
            f"a new process of Kafka on {self._spec.name}",
            read=self.state,
            good=lambda seen: seen.started_at != before.started_at,
            within_s=deadline.left_s(),
        )
        if not after.running:
            words = "\n".join(last_words(self.tail(_TAIL_LINES)))
            raise CommandFailed(f"Kafka on {self._spec.name} ended right after its start", after.exit_code, words)
        return Deed(what=f"start of {self._spec.name}", means="engine API", acted_ns=acted_ns)

    def pause(self) -> Deed:
        """CanPause. Raises FaultFailed when there is no process to freeze, and EnvironmentFailure."""
        return freeze(self._engine, self._kafka, self._spec.name)

    def resume(self) -> Deed:
        """CanPause. Raises EnvironmentFailure."""
        return thaw(self._engine, self._kafka, self._spec.name)

    def power_off(self) -> Deed:
        """CanPowerOff: done once nothing passes any more. The rules come first, or the kernel would tell of the death.

        Raises FaultFailed when there is nothing to kill, CommandFailed and EnvironmentFailure.
        """
        dark = self.run_rules(netrules.cut_batch(netrules.POWER, netrules.Cut()))
        means = f"rules that drop all, then {self.kill().means}"
        return replace(dark, what=f"power off of {self._spec.name}", means=means)

    def power_on(self, *, within_s: float) -> Deed:
        """CanPowerOff. The network is there before Kafka, as on a machine that boots.

        Raises WaitTimeout, CommandFailed and EnvironmentFailure.
        """
        self.run_rules(netrules.lift_batch(netrules.POWER))
        return replace(self.start(within_s=within_s), what=f"power on of {self._spec.name}")

    def run_rules(self, batch: str) -> Deed:
        """CanPartition. Raises CommandFailed and EnvironmentFailure."""
        return netns.run_rules(self._engine, self._host, batch, self._spec.name)

    def rules(self) -> str:
        """CanPartition. Raises CommandFailed and EnvironmentFailure."""
        return netns.rules(self._engine, self._host)

    def reset_connections(self, peers: Sequence[str]) -> int:
        """CanPartition. Raises CommandFailed and EnvironmentFailure."""
        return netns.reset_connections(self._engine, self._host, peers)

    def restore(self, *, within_s: float) -> None:
        """Take back whatever was done to it, known or not. Blocks. Tries everything; raises the first error."""
        with Removal() as steps:  # the last comes first
            steps.add(f"starting {self._spec.name}", lambda: self.start(within_s=within_s))
            steps.add(f"resuming {self._spec.name}", self.resume)
            steps.add(f"lifting the rules of {self._spec.name}", lambda: netns.lift_all(self._engine, self._host))

    def stop(self, *, within_s: float) -> NodeState:
        """SIGTERM, then SIGKILL after `within_s`. Blocks until it has ended. Harmless when it is not running."""
        with asking(f"stopping Kafka on {self._spec.name}"):
            self._kafka.stop(timeout=int(within_s))
        return self.state()

    def tail(self, lines: int) -> str:
        """The last lines of Kafka's log, for error messages. Raises EnvironmentFailure."""
        with asking(f"reading the log of {self._spec.name}"):
            return self._kafka.logs(tail=lines).decode(errors="replace")

    def _end(self, signal_number: signal.Signals, verb: str) -> Deed:
        found = inspect(self._engine, self._kafka)
        if not found["State"]["Running"]:
            raise FaultFailed(f"{self._spec.name}: Kafka is not running, there is nothing to {verb}")
        self._doomed = found["State"]["StartedAt"]
        return self._send(signal_number, found)

    def _send(self, signal_number: signal.Signals, found: Mapping[str, Any]) -> Deed:
        what, pid = f"{signal_number.name} to Kafka on {self._spec.name}", found["State"]["Pid"]
        try:
            acted_ns = pids.send_if_ours(self._engine, found, signal_number)
        except pids.NotOurs as why:
            # A kill is answered only once the engine has seen the death.
            asked_ns = time.monotonic_ns()
            if not send_signal(self._kafka, signal_number.name):
                raise FaultFailed(f"{self._spec.name}: Kafka had ended before {signal_number.name} was sent") from why
            return Deed(what=what, means=f"engine API ({why})", asked_ns=asked_ns, acted_ns=time.monotonic_ns())
        return Deed(what=what, means=f"pidfd_send_signal to pid {pid}", acted_ns=acted_ns)
