"""A fake node: a port, and a process that lives, stands still, or is dead. It keeps its contracts, but for its lies."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import Address, Deed, Knock, NodeState
from chaoskafka.cluster.netrules import Action, lift_batch, tables
from chaoskafka.cluster.spec import NodeSpec
from chaoskafka.cluster.wire import asks
from chaoskafka.cluster.wire.connection import Connection
from chaoskafka.errors import FaultFailed, NoAnswer, WaitTimeout
from chaoskafka.runtimes.fake.door import HOST, Door
from chaoskafka.runtimes.fake.kafka import FakeKafka, address_of
from chaoskafka.runtimes.fake.lies import Lie

SPOKEN_S = 0.1  # for an answer from memory
KNOCK_EVERY_S = 0.01  # a connect on loopback takes a tenth of a millisecond
SIGKILLED, STOPPED = 137, 143  # exit codes as container engines report them


class FakeNode:
    """All abilities of nodes, and HasLog, in memory. Not for use by several threads at once."""

    def __init__(self, kafka: FakeKafka, spec: NodeSpec, door: Door, nodes: Mapping[int, FakeNode]) -> None:
        """`nodes`: all of the cluster, as far as they are there when somebody knocks."""
        self._kafka, self._spec, self._door, self._nodes = kafka, spec, door, nodes
        self._running, self._starts, self._exit_code = True, 1, 0
        self._frozen = self._dark = False
        door.open()

    def __repr__(self) -> str:
        return self._spec.name

    @property
    def spec(self) -> NodeSpec:
        return self._spec

    @property
    def address(self) -> str:
        """On a network of its own, where rules hold; its port is on loopback (`endpoint`)."""
        return address_of(self._spec.node_id)

    @property
    def endpoint(self) -> Address:
        return Address(HOST, self._door.port)

    @property
    def is_dark(self) -> bool:
        """Whether it is without power."""
        return self._dark

    def state(self) -> NodeState:
        return NodeState(
            running=self._running,
            exit_code=None if self._running else self._exit_code,
            started_at=f"start {self._starts} of {self._spec.name}",
            frozen=self._frozen,
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
        """A real connect to the one port of a node, which stands for every plane's, if its packets would get there."""

        def read() -> Knock:
            return self._knock(port, at or self.address, within_s, speak=speak)

        found = read()
        if until in (None, found):
            return found
        try:
            return wait_until(
                f"port {port} of {self._spec.name}",
                read=read,
                good=lambda seen: seen is until,
                within_s=within_s,
                every_s=KNOCK_EVERY_S,
            )
        except WaitTimeout:
            return read()

    def tail(self, lines: int) -> str:
        """HasLog."""
        return "".join(self._kafka.lines[self._spec.node_id][-lines:])

    def kill(self) -> Deed:
        """Raises FaultFailed when there is no process to kill."""
        if not self._running:
            raise FaultFailed(f"{self._spec.name}: it is not running, there is nothing to kill")
        asked_ns = time.monotonic_ns()  # its port takes a while to shut
        if not self._kafka.lies(Lie.IGNORE_KILL):
            self._end(SIGKILLED)
        acted_ns = time.monotonic_ns()
        return Deed(what=f"kill of {self._spec.name}", means="memory", acted_ns=acted_ns, asked_ns=asked_ns)

    def terminate(self) -> Deed:
        """A controlled shutdown, which takes no time. Raises FaultFailed when there is no process to stop."""
        if not self._running:
            raise FaultFailed(f"{self._spec.name}: it is not running, there is nothing to stop")
        asked_ns = time.monotonic_ns()  # the controller decides before it is back from here
        if not self._kafka.lies(Lie.IGNORE_STOP):
            self._kafka.retire(self._spec.node_id)
            self._end(STOPPED)
        acted_ns = time.monotonic_ns()
        return Deed(what=f"stop of {self._spec.name}", means="memory", acted_ns=acted_ns, asked_ns=asked_ns)

    def start(self, *, within_s: float) -> Deed:  # noqa: ARG002 - the contract's; it takes no time
        """At once; a running one is left alone."""
        if not self._running and not self._kafka.lies(Lie.IGNORE_START):
            self._running, self._starts = True, self._starts + 1
            self._kafka.rise(self._spec.node_id)
            self._door.open()
        return Deed(what=f"start of {self._spec.name}", means="memory", acted_ns=time.monotonic_ns())

    def pause(self) -> Deed:
        """Raises FaultFailed when there is no process to freeze."""
        if not self._running:
            raise FaultFailed(f"{self._spec.name}: it is not running, there is nothing to pause")
        if not self._frozen:
            self._frozen = True
            self._door.freeze()
            self._kafka.freeze(self._spec.node_id)
        return Deed(what=f"pause of {self._spec.name}", means="memory", acted_ns=time.monotonic_ns())

    def resume(self) -> Deed:
        if self._frozen:
            self._frozen = False
            self._kafka.thaw(self._spec.node_id)
            self._door.thaw()
        return Deed(what=f"resumption of {self._spec.name}", means="memory", acted_ns=time.monotonic_ns())

    def power_off(self) -> Deed:
        """Raises FaultFailed when there is no process to kill."""
        if not self._running:
            raise FaultFailed(f"{self._spec.name}: it is not running, there is nothing to kill")
        self._dark, self._running, self._frozen, self._exit_code = True, False, False, SIGKILLED
        self._door.freeze()
        self._kafka.die(self._spec.node_id)
        return Deed(what=f"power off of {self._spec.name}", means="memory", acted_ns=time.monotonic_ns())

    def power_on(self, *, within_s: float) -> Deed:
        if self._dark:
            self._dark = False
            self._door.shut()
        return self.start(within_s=within_s)

    def run_rules(self, batch: str) -> Deed:
        """Raises CommandFailed."""
        self._kafka.run_rules(self._spec.node_id, batch)
        return Deed(what=f"rules of {self._spec.name}", means="memory", acted_ns=time.monotonic_ns())

    def rules(self) -> str:
        return self._kafka.rules(self._spec.node_id)

    def reset_connections(self, peers: Sequence[str]) -> int:  # noqa: ARG002 - no real packet goes there
        return 0

    def restore(self) -> None:
        """Take back whatever was done to it."""
        for table in tables(self.rules()):
            self.run_rules(lift_batch(table))
        self.resume()
        self.power_on(within_s=0)

    def stop(self) -> None:
        """As after SIGTERM. Harmless when it is not running."""
        if self._running:
            self._end(STOPPED)

    def close(self) -> None:
        """Give the port back."""
        self._door.close()

    def _knock(self, port: int, at: str, within_s: float, *, speak: bool) -> Knock:
        asked = next(node for node in self._nodes.values() if node.address == at)
        if asked is not self and (self.is_dark or asked.is_dark):
            return Knock.SILENT
        stopped = self._kafka.stops(self._spec.node_id, asked.spec.node_id, port)
        if stopped is not None:
            return Knock.REFUSED if stopped is Action.REJECT else Knock.SILENT
        return _knock(asked.endpoint.port, within_s, speak=speak)

    def _end(self, exit_code: int) -> None:
        self._running, self._frozen, self._exit_code = False, False, exit_code
        self._kafka.die(self._spec.node_id)
        self._door.shut()


def _knock(port: int, within_s: float, *, speak: bool) -> Knock:
    try:
        sock = socket.create_connection((HOST, port), timeout=max(0.01, within_s))
    except ConnectionRefusedError:
        return Knock.REFUSED
    except OSError:
        return Knock.SILENT
    with Connection(Address(HOST, port), sock, min(SPOKEN_S, within_s)) as connection:
        try:
            if speak:
                connection.ask(asks.api_versions())
        except NoAnswer:
            return Knock.MUTE
    return Knock.ANSWERED
