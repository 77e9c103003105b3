"""A fake node: a port, and a process that lives, stands still, or is dead. It keeps its contracts, but for its lies."""

from __future__ import annotations

import socket
import time

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import Address, Deed, Knock, NodeState
from chaoskafka.cluster.spec import NodeSpec
from chaoskafka.cluster.wire import asks
from chaoskafka.cluster.wire.connection import Connection
from chaoskafka.errors import FaultFailed, NoAnswer, WaitTimeout
from chaoskafka.runtimes.fake.door import HOST, Door
from chaoskafka.runtimes.fake.kafka import FakeKafka
from chaoskafka.runtimes.fake.lies import Lie

SPOKEN_S = 0.1  # for an answer from memory
KNOCK_EVERY_S = 0.01  # a connect on loopback takes a tenth of a millisecond
SIGKILLED, STOPPED = 137, 143  # exit codes as container engines report them


class FakeNode:
    """CanKill, CanStop, CanPause and HasLog in memory. Not for use by several threads at once."""

    def __init__(self, kafka: FakeKafka, spec: NodeSpec, door: Door) -> None:
        self._kafka, self._spec, self._door = kafka, spec, door
        self._running, self._starts, self._exit_code = True, 1, 0
        self._frozen = False
        door.open()

    def __repr__(self) -> str:
        return self._spec.name

    @property
    def spec(self) -> NodeSpec:
        return self._spec

    @property
    def address(self) -> str:
        return HOST

    @property
    def endpoint(self) -> Address:
        return Address(HOST, self._door.port)

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
        at: str | None = None,  # noqa: ARG002 - all nodes stand at one address
        speak: bool = False,
        within_s: float = 1.0,
        until: Knock | None = None,
    ) -> Knock:
        """A real connect to the node's own port, which stands for `port` of every plane."""
        found = _knock(self._door.port, within_s, speak=speak)
        if until in (None, found):
            return found
        try:
            return wait_until(
                f"port {port} of {self._spec.name}",
                read=lambda: _knock(self._door.port, within_s, speak=speak),
                good=lambda seen: seen is until,
                within_s=within_s,
                every_s=KNOCK_EVERY_S,
            )
        except WaitTimeout:
            return _knock(self._door.port, within_s, speak=speak)

    def tail(self, lines: int) -> str:
        """HasLog."""
        return "".join(self._kafka.lines[self._spec.node_id][-lines:])

    def kill(self) -> Deed:
        """Raises FaultFailed when there is no process to kill."""
        if not self._running:
            raise FaultFailed(f"{self._spec.name}: it is not running, there is nothing to kill")
        if not self._kafka.lies(Lie.IGNORE_KILL):
            self._end(SIGKILLED)
        return Deed(what=f"kill of {self._spec.name}", means="memory", acted_ns=time.monotonic_ns())

    def terminate(self) -> Deed:
        """A controlled shutdown, which takes no time. Raises FaultFailed when there is no process to stop."""
        if not self._running:
            raise FaultFailed(f"{self._spec.name}: it is not running, there is nothing to stop")
        if not self._kafka.lies(Lie.IGNORE_STOP):
            self._kafka.retire(self._spec.node_id)
            self._end(STOPPED)
        return Deed(what=f"stop of {self._spec.name}", means="memory", acted_ns=time.monotonic_ns())

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

    def stop(self) -> None:
        """As after SIGTERM. Harmless when it is not running."""
        if self._running:
            self._end(STOPPED)

    def close(self) -> None:
        """Give the port back."""
        self._door.close()

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
