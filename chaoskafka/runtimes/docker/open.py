"""Opens a cluster on Docker: ClusterSpec, run id and images in, a running Cluster out; leaving removes all of it.

Order: lock the run; look (engine, images, memory); then network, disks, every host container, and only then Kafka, so
that each name resolves and each published port is known before any broker is configured. The removal of each thing is
registered, by name, before the thing is created.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from docker.models.containers import Container

from chaoskafka.clock import UNSTOPPABLE, Clock
from chaoskafka.cluster import config, secured
from chaoskafka.cluster.abilities import Address, ClientProcess, Cluster
from chaoskafka.cluster.credentials import Credentials, make_credentials
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.security import Security, User
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes import together
from chaoskafka.runtimes.docker import containers, logs
from chaoskafka.runtimes.docker.clients import Clients, pack_sources
from chaoskafka.runtimes.docker.containers import Plan
from chaoskafka.runtimes.docker.engine import Engine, asking, check_images, check_memory, connect
from chaoskafka.runtimes.docker.labels import Part, labels, object_name
from chaoskafka.runtimes.docker.network import (
    create_network,
    create_volume,
    join_network,
    remove_network,
    remove_volume,
)
from chaoskafka.runtimes.docker.node import DockerNode
from chaoskafka.runtimes.docker.reach import Reach, reach_of
from chaoskafka.runtimes.docker.room import check_disk
from chaoskafka.runtimes.locks import run_lock, scratch_directory
from chaoskafka.runtimes.removal import Removal, in_parallel

HOST_MEMORY_MIB = 128  # of a host container: `sleep`, and the tools that are executed in it
HOST_CAPABILITIES = ("NET_ADMIN",)  # to change rules of its own network; Kafka's container has no such right
RESTART_WITHIN_S = 60.0  # for the engine to run Kafka's process again, not for Kafka to be ready


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Names of the images that a cluster is made from."""

    kafka: str
    toolbox: str
    client: str


@contextmanager
def open_cluster(
    spec: ClusterSpec, *, run_id: str, images: Images, clock: Clock = UNSTOPPABLE, keep: bool = False
) -> Iterator[Cluster]:
    """Start every node and yield the cluster once all processes run; whether Kafka is ready is another question.

    Blocks. `clock` may cut the start short (Interrupted, RunTimeout), never the removal. `keep` leaves all that was
    created when the block ends without an error: once this process has ended it counts as a dead run's, for a sweep to
    remove. Raises UsageError for what cannot be started as written, and EnvironmentFailure.
    """
    config.check_config(spec.config)
    with run_lock(run_id), connect() as engine:
        check_images(engine, [images.kafka, images.toolbox, images.client])
        members = spec.members
        check_memory(engine, (spec.memory_mib + HOST_MEMORY_MIB) * len(members), f"a cluster of {len(members)} nodes")
        with Removal() as removal:
            credentials = make_credentials(spec.security)
            builder = _Builder(
                engine=engine,
                spec=spec,
                run_id=run_id,
                images=images,
                credentials=credentials,
                clock=clock,
                reach=reach_of(engine),
            )
            clients = Clients(
                engine,
                run_id=run_id,
                image=images.client,
                network=builder.network,
                sources=pack_sources(scratch_directory(run_id)),
            )
            builder.register(removal)
            removal.add("removing clients", clients.remove_all)
            yield builder.build(clients)
            if keep:
                removal.forget()


class DockerCluster:
    """Cluster and CanHostClients on Docker."""

    def __init__(
        self,
        spec: ClusterSpec,
        *,
        nodes: Mapping[int, DockerNode],
        published: Mapping[int, Address],
        clients: Clients | None,
        credentials: Credentials,
        versions: Mapping[str, str],
    ) -> None:
        self._spec, self._nodes, self._credentials = spec, dict(nodes), credentials
        self._published, self._clients, self._versions = dict(published), clients, dict(versions)

    @property
    def spec(self) -> ClusterSpec:
        return self._spec

    @property
    def nodes(self) -> Mapping[int, DockerNode]:
        return self._nodes

    @property
    def versions(self) -> Mapping[str, str]:
        return self._versions

    def host_addresses(self) -> Mapping[int, Address]:
        """Each broker, as reached from the harness, by default through the engine's port proxy: no place for proofs."""
        return self._published

    def client_addresses(self) -> Mapping[int, Address]:
        """Each broker, as reached from a client container."""
        return together.client_addresses(self._spec)

    def controller_addresses(self) -> Mapping[int, Address]:
        """Each controller, as reached from a client container."""
        return together.controller_addresses(self._spec)

    def security(self, user: User) -> Security:
        """How `user` gets in, from the harness and from client containers alike."""
        return self._credentials.security(user)

    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None, *, package: Path | None = None
    ) -> ClientProcess:
        """Start `argv` in a container of its own. Blocks until it was started. Raises EnvironmentFailure."""
        if self._clients is None:
            raise EnvironmentFailure("a cluster that is looked at by hand has no place for clients")
        return self._clients.launch(name, argv, env or {}, package)

    def restore(self) -> None:
        """Take back all that was done to any node. Tries every node; raises the first error, the others as notes."""
        in_parallel("restoring", lambda node: node.restore(within_s=RESTART_WITHIN_S), list(self._nodes.values()))

    def stop_kafka(self) -> tuple[int, ...]:
        """As `together.stop_in_order`. Raises EnvironmentFailure."""
        return together.stop_in_order(list(self._nodes.values()))

    def gather_logs(self, into: Path) -> None:
        """Write each node's log to `into`/<node name>.log; what cannot be had is named in `into`/missing.txt."""
        logs.gather(list(self._nodes.values()), into)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Builder:
    """Names, creates and registers the removal of everything that a cluster is made of."""

    engine: Engine
    spec: ClusterSpec
    run_id: str
    images: Images
    credentials: Credentials
    clock: Clock
    reach: Reach

    @property
    def network(self) -> str:
        return object_name(self.run_id, "net")

    def register(self, removal: Removal) -> None:
        """Last registered is removed first: Kafka, hosts, disks, network."""
        nodes = [member.name for member in self.spec.members]
        groups = (
            ([self.network], remove_network),
            ([self._name(node, Part.DATA) for node in nodes], remove_volume),
            ([self._name(node, Part.HOST) for node in nodes], containers.remove),
            ([self._name(node, Part.KAFKA) for node in nodes], containers.remove),
        )
        for names, act in groups:
            step = partial(in_parallel, "removing", partial(act, self.engine), names)
            removal.add(f"removing {', '.join(names)}", step)

    def build(self, clients: Clients) -> DockerCluster:
        create_network(self.engine, self.network, self.run_id)
        if self.reach.joins is not None:
            join_network(self.engine, self.network, self.reach.joins)
        members = self.spec.members
        started = in_parallel("starting the host of", self._start_host, members)
        hosts = dict(zip((member.node_id for member in members), started, strict=True))
        check_disk(self.engine, started[0], config.DATA_MOUNT, nodes=len(members))
        published = {
            broker: self.reach.address(self.engine, hosts[broker], Plane.HOST.port, network=self.network)
            for broker in self.spec.broker_ids
        }

        def start_kafka(member: NodeSpec) -> DockerNode:
            return self._start_kafka(member, hosts[member.node_id], published.get(member.node_id))

        nodes = in_parallel("starting Kafka on", start_kafka, members)
        return DockerCluster(
            self.spec,
            nodes={node.spec.node_id: node for node in nodes},
            published=published,
            clients=clients,
            credentials=self.credentials,
            versions=self._versions(),
        )

    def _start_host(self, member: NodeSpec) -> Container:
        self._unless_stopped()
        volume = self._name(member.name, Part.DATA)
        create_volume(self.engine, volume, self.run_id, member.name)
        plan = Plan(
            name=self._name(member.name, Part.HOST),
            image=self.images.toolbox,
            labels=labels(self.run_id, Part.HOST, member.name),
            memory_mib=HOST_MEMORY_MIB,
            command=["sleep", "infinity"],
            network=self.network,
            alias=member.name,
            volumes={volume: config.DATA_MOUNT},
            publish=self.reach.publish(Plane.HOST.port) if member.is_broker else {},
            capabilities=HOST_CAPABILITIES,
        )
        return containers.start(self.engine, plan)

    def _start_kafka(self, member: NodeSpec, host: Container, address: Address | None) -> DockerNode:
        self._unless_stopped()
        cluster_id = config.cluster_id(self.run_id)
        plan = Plan(
            name=self._name(member.name, Part.KAFKA),
            image=self.images.kafka,
            labels=labels(self.run_id, Part.KAFKA, member.name),
            memory_mib=self.spec.memory_mib,
            environment=config.environment(self.spec, member, address, cluster_id=cluster_id),
            joins=host.id,
            volumes={self._name(member.name, Part.DATA): config.DATA_MOUNT},
            files=self._keystore(member, host, address),
        )
        return DockerNode(self.engine, member, host=host, kafka=containers.start(self.engine, plan))

    def _keystore(self, member: NodeSpec, host: Container, published: Address | None) -> dict[str, bytes]:
        """A broker's certificate, for every name by which a client may call it; nothing for a plaintext cluster."""
        authority = self.credentials.authority
        if authority is None or published is None:
            return {}
        there = containers.inspect(self.engine, host)["NetworkSettings"]["Networks"][self.network]["IPAddress"]
        names = dict.fromkeys((member.name, there, published.host, "localhost", "127.0.0.1"))
        return {secured.KEYSTORE: authority.keystore(list(names))}

    def _versions(self) -> Mapping[str, str]:
        found = {"engine": f"docker {self.engine.version}", "kafka": self.spec.release}
        for part in ("kafka", "toolbox", "client"):
            name = getattr(self.images, part)
            with asking(f"inspecting the image {name}"):
                found[f"image.{part}"] = f"{name} {self.engine.api.images.get(name).id}"
        return found

    def _name(self, node: str, part: Part) -> str:
        return object_name(self.run_id, node, part.value)

    def _unless_stopped(self) -> None:
        self.clock.pause(0)
