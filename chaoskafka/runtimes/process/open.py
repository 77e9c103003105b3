"""Opens a cluster of processes: ClusterSpec, run id and a Kafka on this machine in, a running Cluster out.

Order: lock the run; look (memory, disk); a directory of the run's own; sockets for the harness to reach brokers by; the
supervisor with its namespaces; the networks of all nodes; and only then Kafka, so that each name resolves and each port
is known before any broker is configured. Leaving ends the supervisor, and with it all that runs inside, and removes the
directory, which says whose it is. A *plain* cluster has neither namespaces nor networks of its own: nodes stand on the
loopback, each at an address of its own, where the harness reaches them as clients do.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chaoskafka import machine
from chaoskafka.clock import UNSTOPPABLE, Clock
from chaoskafka.cluster import config
from chaoskafka.cluster.abilities import Address, ClientProcess, Cluster
from chaoskafka.cluster.config import variable
from chaoskafka.cluster.credentials import Credentials, make_credentials
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.security import Security, User
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes import together
from chaoskafka.runtimes.locks import cluster_directory, remove_directory, run_lock
from chaoskafka.runtimes.process import layout as layouts
from chaoskafka.runtimes.process import network
from chaoskafka.runtimes.process.clients import Clients
from chaoskafka.runtimes.process.control import Relay, Supervised
from chaoskafka.runtimes.process.layout import Layout
from chaoskafka.runtimes.process.node import ProcessNode
from chaoskafka.runtimes.process.plain import PlainNode
from chaoskafka.runtimes.removal import Removal, in_parallel

RESTART_WITHIN_S = 60.0  # for a process to run again, not for Kafka to be ready
LOOPBACK = "127.0.0.1"
FEWER = "fewer nodes, or smaller: chaoskafka run … --set cluster.memory_mib=600 --set cluster.heap_mib=300"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kafka:
    """What nodes are started from: the image's tree at `root`, and the environment of a process of Kafka."""

    root: Path
    environment: Mapping[str, str]
    versions: Mapping[str, str]  # for the header of a run


@contextmanager
def open_cluster(
    spec: ClusterSpec,
    *,
    run_id: str,
    kafka: Kafka,
    clock: Clock = UNSTOPPABLE,
    keep: bool = False,
    plain: bool = False,
) -> Iterator[Cluster]:
    """Start every node and yield the cluster once all processes run; whether Kafka is ready is another question.

    Blocks. `clock` may cut the start short (Interrupted, RunTimeout), never the removal. `keep` leaves all that runs
    when the block ends without an error: once this process has ended it counts as a dead run's, for a sweep to remove.
    Raises UsageError for what cannot be started as written, and EnvironmentFailure.
    """
    config.check_config(spec.config)
    check_memory(spec)
    with run_lock(run_id), Removal() as removal:
        loopback = layouts.loopback(run_id) if plain else None
        layout = Layout(root=cluster_directory(run_id), spec=spec, loopback=loopback)
        removal.add(f"removing {layout.root}", partial(remove_directory, layout.root))
        _prepare(layout)
        brokers = [member for member in spec.members if member.is_broker]
        inside = Supervised(layout.root, plain=plain)
        removal.add("ending all processes", inside.end)
        with ExitStack() as sockets:  # the supervisor's from then on: ours would go on listening when it is gone
            relays = [] if plain else [_relay(layout, member, sockets) for member in brokers]
            inside.start(relays)
            reached = [Address(*relay.socket.getsockname()) for relay in relays]
        if plain:
            check_ports(layout)
            reached = [Address(layout.address(member), Plane.HOST.port) for member in brokers]
        layout.write_owner(inside.pid)
        builder = _Builder(
            layout=layout, kafka=kafka, run_id=run_id, clock=clock, credentials=make_credentials(spec.security)
        )
        yield builder.build(inside, dict(zip(spec.broker_ids, reached, strict=True)))
        if keep:
            inside.ask("keep")
            removal.forget()


class ProcessCluster:
    """Cluster and CanHostClients on processes of this machine."""

    def __init__(
        self,
        layout: Layout,
        *,
        nodes: Mapping[int, PlainNode],
        reached: Mapping[int, Address],
        clients: Clients,
        credentials: Credentials,
        versions: Mapping[str, str],
    ) -> None:
        self._spec, self._addresses = layout.spec, layout.addresses
        self._nodes, self._credentials = dict(nodes), credentials
        self._reached, self._clients, self._versions = dict(reached), clients, dict(versions)

    @property
    def spec(self) -> ClusterSpec:
        return self._spec

    @property
    def nodes(self) -> Mapping[int, PlainNode]:
        return self._nodes

    @property
    def versions(self) -> Mapping[str, str]:
        return self._versions

    def host_addresses(self) -> Mapping[int, Address]:
        """Each broker. Through the supervisor's relay, which accepts for a dead broker too: no place for proofs."""
        return self._reached

    def client_addresses(self) -> Mapping[int, Address]:
        """Each broker, as reached from a client place."""
        return together.client_addresses(self._spec, self._addresses)

    def controller_addresses(self) -> Mapping[int, Address]:
        """Each controller, as reached from a client place."""
        return together.controller_addresses(self._spec, self._addresses)

    def security(self, user: User) -> Security:
        """How `user` gets in, from the harness and from client places alike."""
        return self._credentials.security(user)

    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None, *, package: Path | None = None
    ) -> ClientProcess:
        """Start `argv` in a place of its own. Blocks until it was started. Raises EnvironmentFailure."""
        return self._clients.launch(name, argv, env or {}, package)

    def restore(self) -> None:
        """Take back all that was done to any node. Tries every node; raises the first error, the others as notes."""
        in_parallel("restoring", lambda node: node.restore(within_s=RESTART_WITHIN_S), list(self._nodes.values()))

    def stop_kafka(self) -> tuple[int, ...]:
        """As `together.stop_in_order`. Raises EnvironmentFailure."""
        return together.stop_in_order(list(self._nodes.values()))

    def gather_logs(self, into: Path) -> None:
        """As the contract says."""
        into.mkdir(parents=True, exist_ok=True)
        missing = []
        for node in self._nodes.values():
            for kind, path in (("log", node.log_file), ("metadata-log", node.metadata_log)):
                try:
                    shutil.copyfile(path, into / f"{node.spec.name}.{kind}")
                except OSError as failed:
                    missing.append(f"{node.spec.name}.{kind}: {failed}\n")
        if missing:
            (into / "missing.txt").write_text("".join(missing))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Builder:
    """Makes everything that a cluster consists of, inside a supervisor."""

    layout: Layout
    kafka: Kafka
    run_id: str
    clock: Clock
    credentials: Credentials

    def build(self, inside: Supervised, reached: Mapping[int, Address]) -> ProcessCluster:
        spec = self.layout.spec
        if self.layout.loopback is None:
            places = [network.place(self.layout.namespace(m.name), self.layout.address(m)) for m in spec.members]
            inside.shell(network.script([network.bridge(self.layout.hosts_file), *places]), "making the networks")
        nodes = [self._node(inside, member, reached.get(member.node_id)) for member in spec.members]
        self.clock.pause(0)  # a stop cuts the start short here
        in_parallel("starting Kafka on", lambda node: node.start(within_s=RESTART_WITHIN_S), nodes)
        return ProcessCluster(
            self.layout,
            nodes={node.spec.node_id: node for node in nodes},
            reached=reached,
            clients=Clients(inside, self.layout),
            credentials=self.credentials,
            versions=self.kafka.versions,
        )

    def _node(self, inside: Supervised, member: NodeSpec, address: Address | None) -> PlainNode:
        spec, home, disk = self.layout.spec, self.layout.node(member), self.layout.disk(member)
        cluster_id = config.cluster_id(self.run_id)
        env = {
            **self.kafka.environment,
            **config.environment(spec, member, address, cluster_id=cluster_id, addresses=self.layout.addresses),
            variable("log.dirs"): str(disk),
            "CHAOSKAFKA_ROOT": str(self.kafka.root),
            "CHAOSKAFKA_CONFIG": str(home / "config"),
            # Files of this in /tmp are named by process ids, which other namespaces have too.
            "KAFKA_OPTS": "-XX:-UsePerfData",
        }
        for directory in (home / "config", disk.parent):
            directory.mkdir(parents=True)
        if self.credentials.authority is not None and address is not None:
            names = (member.name, self.layout.address(member), address.host, "localhost")
            keystore = home / "node.pem"
            keystore.touch(mode=0o600)
            keystore.write_bytes(self.credentials.authority.keystore(list(names)))
            env[variable("ssl.keystore.location")] = str(keystore)
        run = self.kafka.root / "etc" / "kafka" / "docker" / "run"
        kind = ProcessNode if self.layout.loopback is None else PlainNode
        return kind(inside, member, layout=self.layout, argv=["bash", str(run)], env=env)


def check_memory(spec: ClusterSpec) -> None:
    """Raises EnvironmentFailure when this machine has less memory than the cluster may use."""
    have_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // machine.MIB
    needed_mib = spec.memory_mib * len(spec.members)
    if needed_mib > have_mib:
        problem = f"a cluster of {len(spec.members)} nodes may use {needed_mib} MiB of memory and this machine has"
        raise EnvironmentFailure(f"{problem} {have_mib}", mend=FEWER)


def check_ports(layout: Layout) -> None:
    """Raises EnvironmentFailure when somebody has a port that a node on the loopback needs."""
    for at, plane in ((layout.address(member), plane) for member in layout.spec.members for plane in Plane):
        try:
            socket.create_server((at, plane.port)).close()
        except OSError as taken:
            problem = f"nodes without namespaces stand on the loopback, and port {plane.port} of {at}: {taken.strerror}"
            mend = f"ss -ltnp 'sport = :{plane.port}'   # who has it there, or on every address"
            raise EnvironmentFailure(problem, mend=mend) from taken


def _prepare(layout: Layout) -> None:
    for directory in ("net", "nodes", "clients"):
        (layout.root / directory).mkdir()
    layout.hosts_file.write_text(layout.hosts)
    machine.check_room(
        machine.free_mib(layout.root),
        machine.NODE_DISK_MIB * len(layout.spec.members),
        where=f"the disk of {layout.root}",
        what=f"a cluster of {len(layout.spec.members)} nodes",
        mend="export XDG_STATE_HOME=/a/directory/on/a/larger/disk",
    )


def _relay(layout: Layout, member: NodeSpec, sockets: ExitStack) -> Relay:
    listening = sockets.enter_context(socket.create_server((LOOPBACK, 0)))
    return Relay(socket=listening, host=layout.address(member), port=Plane.HOST.port)
