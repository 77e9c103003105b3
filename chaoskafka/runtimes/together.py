"""What every runtime with real nodes does with all of them at once: names for addresses, and stopping in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from chaoskafka.cluster.abilities import Address, Node, NodeState
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.runtimes.removal import in_parallel

STOP_WITHIN_S = 60.0  # measured 3-5 s for a clean stop; Kafka's own budget for it is 5 minutes
SIGKILLED = 137  # 128 + SIGKILL, as every runtime reports it


class Stoppable(Node, Protocol):
    """A node whose process can be ended for good."""

    def stop(self, *, within_s: float) -> NodeState:
        """SIGTERM, then SIGKILL after `within_s`. Blocks until it has ended. Harmless when it is not running."""
        ...


def client_addresses(spec: ClusterSpec, addresses: Mapping[int, str] | None = None) -> dict[int, Address]:
    """Each broker by its name, where names resolve; else by its address, of `addresses`."""
    hosts = addresses or {m.node_id: m.name for m in spec.members}
    return {m.node_id: Address(hosts[m.node_id], Plane.CLIENTS.port) for m in spec.members if m.is_broker}


def controller_addresses(spec: ClusterSpec, addresses: Mapping[int, str] | None = None) -> dict[int, Address]:
    """Each controller, in the same way."""
    hosts = addresses or {m.node_id: m.name for m in spec.members}
    return {m.node_id: Address(hosts[m.node_id], Plane.CONTROLLER.port) for m in spec.members if m.is_controller}


def stop_in_order(nodes: Sequence[Stoppable]) -> tuple[int, ...]:
    """SIGTERM to brokers, then to dedicated controllers, each kind at once, each with 60 s.

    Returns the ids of nodes that did not end by themselves and were killed. Raises EnvironmentFailure.
    """
    killed = []
    for kind in (True, False):
        running = [node for node in nodes if node.spec.is_broker is kind and node.state().running]
        ends = in_parallel("stopping", lambda node: node.stop(within_s=STOP_WITHIN_S), running)
        killed += [node.spec.node_id for node, end in zip(running, ends, strict=True) if end.exit_code == SIGKILLED]
    return tuple(killed)
