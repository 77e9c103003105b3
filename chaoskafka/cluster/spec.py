"""ClusterSpec: what a cluster under test is made of. A frozen value; its fields are the YAML keys of `cluster:`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from chaoskafka.cluster.security import Protection
from chaoskafka.cluster.versions import DEFAULT, release_of

NODES_MAX = 50  # of each kind, on one engine; a larger figure is a slip
MEMORY_MIN_MIB, MEMORY_MAX_MIB = 128, 65_536  # of one node: below, Kafka does not start; above, it is a slip
BESIDE_HEAP_MIB = 200  # what the JVM needs beside its heap

FIRST_CONTROLLER_ID = 101  # dedicated controllers are 101.., brokers 1..: an id tells the kind


class Role(StrEnum):
    """What a node does (`process.roles`)."""

    BROKER = "broker"
    CONTROLLER = "controller"


class Timeouts(StrEnum):
    """`default`: Kafka's own values. `fast`: detection in about 3 s, stable on two cores."""

    DEFAULT = "default"
    FAST = "fast"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """One node. Its name is its host name on the cluster's network."""

    node_id: int
    roles: frozenset[Role]

    @property
    def name(self) -> str:
        return f"node-{self.node_id}"

    @property
    def is_broker(self) -> bool:
        return Role.BROKER in self.roles

    @property
    def is_controller(self) -> bool:
        return Role.CONTROLLER in self.roles


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """Either `nodes` (combined: each broker and controller at once) or `controllers` and `brokers` (isolated).

    Raises ValueError, naming the field, when the values do not make a cluster.
    """

    nodes: int | None = None  # combined nodes; 3 when nothing is said
    controllers: int | None = None  # dedicated ones, numbered from 101
    brokers: int | None = None  # dedicated ones, numbered from 1
    kafka: str = DEFAULT  # the release; a line ("4.2") means its newest one
    timeouts: Timeouts = Timeouts.DEFAULT  # fast: a dead broker is noticed in about 3 s instead of 9
    security: Protection = Protection.PLAINTEXT  # of clients' connections; sasl_scram: TLS, users and ACLs
    config: Mapping[str, str] = field(default_factory=dict)  # Kafka settings for every node; they win over ours
    heap_mib: int = 400  # per node; measured enough for six JVMs on a small machine
    memory_mib: int = 900  # limit of the node's container

    def __post_init__(self) -> None:
        isolated = self.controllers is not None or self.brokers is not None
        if self.nodes is not None and isolated:
            raise ValueError("nodes: give either nodes, or controllers and brokers, not both")
        if isolated and (self.controllers is None or self.brokers is None):
            given, missing = ("brokers", "controllers") if self.controllers is None else ("controllers", "brokers")
            raise ValueError(f"{given}: an isolated cluster needs {missing} too")
        for name in ("nodes", "controllers", "brokers"):
            count = getattr(self, name)
            if count is not None and not 1 <= count <= NODES_MAX:
                raise ValueError(f"{name}: {count} is not between 1 and {NODES_MAX}")
        for name in ("heap_mib", "memory_mib"):
            if not MEMORY_MIN_MIB <= getattr(self, name) <= MEMORY_MAX_MIB:
                limits = f"{MEMORY_MIN_MIB} and {MEMORY_MAX_MIB}"
                raise ValueError(f"{name}: {getattr(self, name)} is not between {limits}")
        if self.memory_mib < self.heap_mib + BESIDE_HEAP_MIB:
            least = f"at least {BESIDE_HEAP_MIB} more than heap_mib {self.heap_mib}"
            raise ValueError(f"memory_mib: {self.memory_mib} is not {least}")

    @property
    def release(self) -> str:
        """The release that `kafka` means. Raises UsageError for one that is not supported."""
        return release_of(self.kafka)

    @property
    def members(self) -> tuple[NodeSpec, ...]:
        """Every node, brokers first, in the order of their ids."""
        if self.controllers is not None and self.brokers is not None:
            brokers = [NodeSpec(node_id=i + 1, roles=frozenset({Role.BROKER})) for i in range(self.brokers)]
            controllers = [
                NodeSpec(node_id=FIRST_CONTROLLER_ID + i, roles=frozenset({Role.CONTROLLER}))
                for i in range(self.controllers)
            ]
            return (*brokers, *controllers)
        both = frozenset({Role.BROKER, Role.CONTROLLER})
        return tuple(NodeSpec(node_id=i + 1, roles=both) for i in range(self.nodes or 3))

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(node.node_id for node in self.members if node.is_broker)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSpec(ClusterSpec):
    """A cluster that somebody else made: brokers have the ids that they were given, and controllers are not seen."""

    found: tuple[int, ...] = ()

    @property
    def members(self) -> tuple[NodeSpec, ...]:
        """Every broker, in the order of their ids."""
        return tuple(NodeSpec(node_id=broker, roles=frozenset({Role.BROKER})) for broker in self.found)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """A topic under test. Its min ISR is set on the topic: with ELR a broker's own setting is ignored (KIP-966)."""

    partitions: int = 6  # numbered from 0
    replication_factor: int = 3  # copies of each partition, at most one per broker
    min_insync_replicas: int = 2  # copies without which acks=all is refused
    config: Mapping[str, str] = field(default_factory=dict)  # Kafka settings of the topic

    def __post_init__(self) -> None:
        for name in ("partitions", "replication_factor", "min_insync_replicas"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)} is below 1")
        if self.min_insync_replicas > self.replication_factor:
            raise ValueError(
                f"min_insync_replicas: {self.min_insync_replicas} is above replication_factor {self.replication_factor}"
            )
