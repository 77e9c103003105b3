"""What a runtime offers: nodes, client places, and abilities. Protocols only; each runtime implements the part it can.

A node is a host with a process on it: address, published ports, rules and data survive stop, kill and start of Kafka.
Nothing here names what only one engine has, so that a pod or a namespace can be a node too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from chaoskafka.cluster.security import Security, User
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """Where to connect."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Knock(StrEnum):
    """What a TCP connect from inside the node's own network got."""

    ANSWERED = "answered"
    MUTE = "mute"  # the kernel took the connection, and nobody answered what was asked over it
    REFUSED = "refused"
    SILENT = "silent"  # no answer in time


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """Kafka's process on a node, as the runtime sees it now. `started_at` changes with every start."""

    running: bool
    exit_code: int | None  # of the last end; 137 after SIGKILL, 143 after SIGTERM; None while running
    started_at: str
    out_of_memory: bool = False
    frozen: bool = False  # it is there, and none of its threads runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """An act on a node: what was done, by which means, and when (monotonic ns, taken right after the act)."""

    what: str
    means: str  # e.g. "pidfd_send_signal to pid 4711" or "engine API"
    acted_ns: int
    asked_ns: int | None = None  # right before an act that takes time, as a request does: it was done in between


class Node(Protocol):
    """One node of a running cluster."""

    @property
    def spec(self) -> NodeSpec: ...
    @property
    def address(self) -> str:
        """Its IP address on the cluster's network: how other nodes and client places reach it."""
        ...

    def state(self) -> NodeState:
        """Blocks for one question to the runtime."""
        ...

    def knock(
        self,
        port: int,
        *,
        at: str | None = None,
        speak: bool = False,
        within_s: float = 1.0,
        until: Knock | None = None,
    ) -> Knock:
        """Connect to `port` of the address `at` (None: its own) from inside this node's network namespace, never
        through a published port.

        With `speak`, asks for ApiVersions over the connection, on a port that speaks Kafka in the clear (replication,
        controllers), and only an answer to that counts as one: a frozen process is MUTE. With `until`, knocks again and
        again for `within_s` until it gets that answer; returns the last one. That costs one process on the node's
        machine, where a knock each time would slow down what is being waited for.
        """
        ...


@runtime_checkable
class HasLog(Node, Protocol):
    """What Kafka wrote can be read while the cluster stands, so that an error can quote it."""

    def tail(self, lines: int) -> str:
        """The last lines of Kafka's log. Raises EnvironmentFailure."""
        ...


@runtime_checkable
class CanStart(Node, Protocol):
    """Kafka can be started again on a node where it ended, with its address and its disk. Part of other abilities."""

    def start(self, *, within_s: float) -> Deed:
        """Start Kafka again; idempotent: a running one is left alone. Returns once a *new* process is seen running.

        Raises WaitTimeout when none is.
        """
        ...


@runtime_checkable
class CanKill(CanStart, Protocol):
    """Kafka's process can be killed as by the kernel."""

    def kill(self) -> Deed:
        """SIGKILL to Kafka's process only; returns once the signal was sent, not once it worked."""
        ...


@runtime_checkable
class CanStop(CanStart, Protocol):
    """A person can ask Kafka to stop."""

    def terminate(self) -> Deed:
        """SIGTERM to Kafka's process only, which begins a controlled shutdown; returns once the signal was sent."""
        ...


@runtime_checkable
class CanPause(Node, Protocol):
    """All of Kafka's process can be frozen, and run on as if no time had passed."""

    def pause(self) -> Deed:
        """Freeze; the kernel goes on accepting connections for it."""
        ...

    def resume(self) -> Deed:
        """Let it run again; idempotent: one that runs, or has ended, is left alone."""
        ...


@runtime_checkable
class CanPowerOff(Node, Protocol):
    """The whole machine can vanish: silence, where a dead process would be told by resets; its disk stays."""

    def power_off(self) -> Deed:
        """Kafka's process dies and no packet leaves any more, not even one that says so."""
        ...

    def power_on(self, *, within_s: float) -> Deed:
        """Boot with the same address and disk, and start Kafka; idempotent. Returns once a new process is seen.

        Raises WaitTimeout when none is.
        """
        ...


@runtime_checkable
class CanPartition(Node, Protocol):
    """Packets from and to a node can be dropped or rejected, by rules in its network namespace, outside of Kafka."""

    def run_rules(self, batch: str) -> Deed:
        """Run a batch of nft commands (`cluster/netrules.py` writes them), all or nothing. Raises CommandFailed."""
        ...

    def rules(self) -> str:
        """Every rule in force there that is ours, as nft lists it; "" when there is none."""
        ...

    def reset_connections(self, peers: Sequence[str]) -> int:
        """End the node's TCP connections to those addresses at once, as `ss -K` does; returns how many.

        Without any address: to everybody but itself.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStatus:
    """How a client process ended."""

    code: int | None
    signal: int | None
    out_of_memory: bool = False


class ClientProcess(Protocol):
    """A process where clients run. It speaks JSON status lines on stdout and leaves files in its directory."""

    @property
    def name(self) -> str: ...
    @property
    def address(self) -> str:
        """Its IP address on the cluster's network; `""` where places have none."""
        ...

    def latest(self) -> Mapping[str, Any] | None:
        """The newest status line; None before the first."""
        ...

    def exited(self) -> ExitStatus | None:
        """None while it runs. Does not block for long."""
        ...

    def terminate(self) -> None:
        """SIGTERM; returns at once. Harmless when it has ended."""
        ...

    def kill(self) -> None:
        """SIGKILL. Harmless when it has ended."""
        ...

    def wait(self, *, within_s: float) -> ExitStatus:
        """Raises WaitTimeout."""
        ...

    def collect(self, into: Path) -> None:
        """Copy all files of its directory to `into`, and what it wrote on stdout and stderr (`stdout.log`,
        `stderr.log`). Works while it runs, after its end and after a kill, until the cluster is left."""
        ...


@runtime_checkable
class CanHostClients(Protocol):
    """Workers, the observer and a user's own command all start through this."""

    def launch(
        self,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        package: Path | None = None,
    ) -> ClientProcess:
        """Start `argv` in a place of its own, in a fresh working directory (its path is also in $CHAOSKAFKA_DIR).

        `package`: a directory here that the place's Python can import by its name, a user's application for one.
        `argv[0] == "python"` is the place's own Python, which can import chaoskafka (without its engine parts) and
        the client libraries. The place is removed with the cluster, not with the process. Several threads may launch.
        """
        ...


class Cluster(Protocol):
    """A running cluster. Leaving its context manager removes all that it created."""

    @property
    def spec(self) -> ClusterSpec: ...
    @property
    def nodes(self) -> Mapping[int, Node]: ...
    @property
    def versions(self) -> Mapping[str, str]:
        """Of the engine and the images, for the header of a run."""
        ...

    def host_addresses(self) -> Mapping[int, Address]:
        """Each broker, as reached from the harness. No place for proofs: a port proxy may answer for a dead broker."""
        ...

    def client_addresses(self) -> Mapping[int, Address]:
        """Each broker, as reached from a client place."""
        ...

    def controller_addresses(self) -> Mapping[int, Address]:
        """Each controller, as reached from a client place."""
        ...

    def security(self, user: User) -> Security:
        """How `user` gets in at those of brokers; PLAINTEXT where the spec asks for no protection."""
        ...

    def restore(self) -> None:
        """Undo every fault, whatever it was: idempotent, safe on a broken cluster, with deadlines of its own."""
        ...

    def stop_kafka(self) -> tuple[int, ...]:
        """Stop Kafka on every node in order (SIGTERM, bounded), so that logs can be gathered.

        Returns the ids of nodes that did not end by themselves in time and were killed.
        """
        ...

    def gather_logs(self, into: Path) -> None:
        """Write each node's log to `into`/<node name>.log, and what it has of the metadata log to
        `into`/<node name>.metadata-log; what cannot be had is named in `into`/missing.txt."""
        ...
