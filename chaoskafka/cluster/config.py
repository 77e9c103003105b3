"""Kafka's settings for each node: ClusterSpec and a published port in, the image's environment out. Pure.

The official image turns each `KAFKA_X` into a property and writes nothing else into server.properties, so everything
that a node needs is here. Every node has separate listeners for clients, replication and controllers, so that each
plane can be cut alone, and one more for clients on the host. The quorum is static (`controller.quorum.voters`): the
image formats with no flag but the cluster id.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from chaoskafka.cluster import secured
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec, Role, Timeouts
from chaoskafka.errors import UsageError

DATA_MOUNT = "/var/lib/kafka/data"
LOG_DIR = f"{DATA_MOUNT}/log"  # below the mount, so that a disk's own lost+found is no partition directory
METADATA_LOG = f"{LOG_DIR}/__cluster_metadata-0/{0:020}.log"  # its first segment, which holds a week or 1 GiB

FAST: Mapping[str, str] = MappingProxyType(
    {
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "controller.quorum.fetch.timeout.ms": "1000",
        "controller.quorum.election.timeout.ms": "500",
        "controller.quorum.election.backoff.max.ms": "250",
        "controller.quorum.append.linger.ms": "5",
        "metadata.max.idle.interval.ms": "100",
        "replica.lag.time.max.ms": "6000",
        "replica.fetch.wait.max.ms": "100",
        "replica.fetch.backoff.ms": "100",
    }
)
"""`timeouts: fast`: detection in about 3 s instead of 9, measured stable on two cores."""

OURS = frozenset(
    {
        "node.id",
        "process.roles",
        "controller.quorum.voters",
        "controller.quorum.bootstrap.servers",
        "controller.listener.names",
        "listeners",
        "advertised.listeners",
        "inter.broker.listener.name",
        "log.dirs",
        "log.dir",
        "metadata.log.dir",
    }
)
"""What makes a node this node of this cluster; a user's `config` cannot change it."""

_KEY = re.compile(r"[a-z0-9._-]+")
_CONSOLE_LOGGERS = "org.apache.kafka.controller=INFO,state.change.logger=INFO"


def config_problems(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The settings that cannot be passed on, or would break the cluster's own shape: each key with what is wrong."""
    for key in config:
        if not _KEY.fullmatch(key):
            yield key, f"{key!r} is not a Kafka setting: lower-case letters, digits, '.', '_', '-'"
        elif key in OURS or secured.is_ours(key):
            yield key, f"{key!r} is set by chaoskafka; it makes the cluster what `nodes` and `security` say"
        else:
            try:
                variable(key)
            except ValueError as lost:
                yield key, str(lost)


def check_config(config: Mapping[str, str]) -> None:
    """Raises UsageError for the first of `config_problems`."""
    for _, problem in config_problems(config):
        raise UsageError(f"cluster.config: {problem}")


def settings(
    spec: ClusterSpec, node: NodeSpec, host_address: Address | None, *, addresses: Mapping[int, str] | None = None
) -> dict[str, str]:
    """server.properties of one node. `host_address`: where clients on the host reach it; None for a pure controller.

    `addresses`: of every node, by its id, where nodes share one network and their names do not resolve: it listens on
    its own alone, and others are told the address. None: it listens on all that it has, and others are told the name.
    Later wins: our defaults, then `timeouts`, then the user's `config`. Raises UsageError (see `check_config`).
    """
    check_config(spec.config)
    fast = FAST if spec.timeouts is Timeouts.FAST else {}
    ours = {
        **_identity(spec, node, addresses),
        **_listeners(node, host_address, addresses),
        **secured.settings(spec.security, node),
    }
    return {**_steady(spec), **fast, **spec.config, **ours}


def environment(
    spec: ClusterSpec,
    node: NodeSpec,
    host_address: Address | None,
    *,
    cluster_id: str,
    addresses: Mapping[int, str] | None = None,
) -> dict[str, str]:
    """The environment of one node's Kafka, for the interface of the image `apache/kafka`. Else as `settings`."""
    lowest_mib = min(100, spec.heap_mib)
    return {
        **{variable(key): value for key, value in settings(spec, node, host_address, addresses=addresses).items()},
        "CLUSTER_ID": cluster_id,
        "KAFKA_HEAP_OPTS": f"-Xms{lowest_mib}m -Xmx{spec.heap_mib}m",
        # A logger named here loses its own file appender and falls through to the console (KafkaDockerWrapper).
        "KAFKA_LOG4J_LOGGERS": _CONSOLE_LOGGERS,
    }


_MEANS = {1: ".", 2: "_", 3: "-"}  # what a run of underscores in a variable's name stands for


def variable(key: str) -> str:
    """The variable that the image turns back into the setting `key` (KafkaDockerWrapper: `___` -, `__` _, `_` .).

    Raises ValueError for a name that comes back as another one: the rule cannot tell `__` from `-.`, nor keep capitals.
    """
    name = key.replace("_", "__").replace("-", "___").replace(".", "_").upper()
    back = re.sub("_{1,3}", lambda run: _MEANS[len(run[0])], name.lower())
    if back != key:
        raise ValueError(f"{key}: cannot be given to the image, which would take it for {back}")
    return f"KAFKA_{name}"


def cluster_id(run_id: str) -> str:
    """A Kafka UUID (base64url of 16 bytes) that names the run's cluster; never with a leading dash, as Kafka's own."""
    text = base64.urlsafe_b64encode(hashlib.sha256(run_id.encode()).digest()[:16]).decode().rstrip("=")
    return "k" + text[1:] if text.startswith("-") else text


def _steady(spec: ClusterSpec) -> dict[str, str]:
    """Defaults that make a chaos run readable. Each may be overridden by the user."""
    brokers = len(spec.broker_ids)
    replicas, in_sync = str(min(3, brokers)), str(min(2, brokers))
    return {
        # Leadership and topics change only because of a fault or because the scenario says so.
        "auto.leader.rebalance.enable": "false",
        "auto.create.topics.enable": "false",
        # With replication factor 1 a killed broker would take the coordinators' data with it.
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        "min.insync.replicas": in_sync,  # for __consumer_offsets; topics under test carry their own
        # Our groups start together; the default of 3 s only lengthens every run.
        "group.initial.rebalance.delay.ms": "500",
    }


def _identity(spec: ClusterSpec, node: NodeSpec, addresses: Mapping[int, str] | None) -> dict[str, str]:
    port = Plane.CONTROLLER.port
    voters = (f"{m.node_id}@{_host(m, addresses)}:{port}" for m in spec.members if m.is_controller)
    roles = (role.value for role in (Role.BROKER, Role.CONTROLLER) if role in node.roles)
    return {
        "node.id": str(node.node_id),
        "process.roles": ",".join(roles),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": Plane.CONTROLLER.name,
        "log.dirs": LOG_DIR,
    }


def _listeners(node: NodeSpec, host_address: Address | None, addresses: Mapping[int, str] | None) -> dict[str, str]:
    controller = [Plane.CONTROLLER] if node.is_controller else []
    at = "" if addresses is None else addresses[node.node_id]
    if not node.is_broker:  # the image refuses advertised listeners on a pure controller
        return {"listeners": _bound(controller, at)}
    bound = [Plane.CLIENTS, Plane.REPLICATION]
    advertised = [f"{plane.name}://{_host(node, addresses)}:{plane.port}" for plane in bound]
    if host_address is not None:
        bound.append(Plane.HOST)
        advertised.append(f"{Plane.HOST.name}://{host_address}")
    return {
        "listeners": _bound([*bound, *controller], at),
        "advertised.listeners": ",".join(advertised),
        "inter.broker.listener.name": Plane.REPLICATION.name,
    }


def _bound(planes: Sequence[Plane], at: str) -> str:
    return ",".join(f"{plane.name}://{at}:{plane.port}" for plane in planes)


def _host(node: NodeSpec, addresses: Mapping[int, str] | None) -> str:
    return node.name if addresses is None else addresses[node.node_id]
