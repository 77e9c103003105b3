"""Opens a fake cluster: ClusterSpec and client programs in, a Cluster with open ports out; leaving closes them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from chaoskafka.cluster.abilities import Address, ClientProcess
from chaoskafka.cluster.config import check_config
from chaoskafka.cluster.rights import Right
from chaoskafka.cluster.security import PLAINTEXT, Protection, Security, User
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.errors import UsageError
from chaoskafka.runtimes.fake.answers import Broker
from chaoskafka.runtimes.fake.clients import Clients, Program
from chaoskafka.runtimes.fake.door import Door
from chaoskafka.runtimes.fake.kafka import FakeKafka
from chaoskafka.runtimes.fake.node import FakeNode

LOG_BYTES_MAX = 64 << 20  # of a metadata log: an hour's, at ten records a second


@contextmanager
def open_cluster(kafka: FakeKafka, programs: Mapping[str, Program]) -> Iterator[FakeCluster]:
    """Raises UsageError for a configuration that no cluster could be started with."""
    check_config(kafka.spec.config)
    if kafka.spec.security is not Protection.PLAINTEXT:
        raise UsageError(f"cluster.security: {kafka.spec.security}: runtime fake speaks plaintext only")
    with ExitStack() as removal:
        clients = Clients(kafka, programs)
        removal.callback(clients.remove_all)
        addresses: dict[int, Address] = {}
        nodes: dict[int, FakeNode] = {}
        for member in kafka.spec.members:
            node = FakeNode(kafka, member, Door(Broker(kafka, member.node_id, addresses).answer), nodes)
            removal.callback(node.close)
            nodes[member.node_id] = node
            if member.is_broker:
                addresses[member.node_id] = node.endpoint
        yield FakeCluster(kafka, nodes, clients)


class FakeCluster:
    """Cluster and CanHostClients in memory."""

    def __init__(self, kafka: FakeKafka, nodes: Mapping[int, FakeNode], clients: Clients) -> None:
        self._kafka, self._nodes, self._clients = kafka, dict(nodes), clients

    @property
    def spec(self) -> ClusterSpec:
        return self._kafka.spec

    @property
    def nodes(self) -> Mapping[int, FakeNode]:
        return self._nodes

    @property
    def versions(self) -> Mapping[str, str]:
        return {"engine": "none: no Kafka is involved", "confluent-kafka": "none: fake clients"}

    def host_addresses(self) -> Mapping[int, Address]:
        return {id_: node.endpoint for id_, node in self._nodes.items() if node.spec.is_broker}

    def client_addresses(self) -> Mapping[int, Address]:
        return self.host_addresses()

    def controller_addresses(self) -> Mapping[int, Address]:
        return {id_: node.endpoint for id_, node in self._nodes.items() if node.spec.is_controller}

    def security(self, user: User) -> Security:  # noqa: ARG002 - nobody has to say who they are
        return PLAINTEXT

    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None, *, package: Path | None = None
    ) -> ClientProcess:
        """Start one of the programs in a thread. Raises UsageError for any other command, and for an environment."""
        if env or package is not None:
            raise UsageError(f"{name}: runtime fake runs threads, which have no environment of their own")
        return self._clients.launch(name, argv)

    def restore(self) -> None:
        for node in self._nodes.values():
            node.restore()

    def stop_kafka(self) -> tuple[int, ...]:
        for node in self._nodes.values():
            node.stop()
        return ()

    def gather_logs(self, into: Path) -> None:
        into.mkdir(parents=True, exist_ok=True)
        for node in self._nodes.values():
            lines = self._kafka.lines[node.spec.node_id]
            (into / f"{node.spec.name}.log").write_text("".join(lines))
            with self._kafka.now() as control:
                (into / f"{node.spec.name}.metadata-log").write_bytes(control.metadata.fetch(0, LOG_BYTES_MAX))


class FakeAdmin:
    """What a run asks of `cluster.admin.Admin`."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka

    def create_topics(self, topics: Mapping[str, TopicSpec], placed: Mapping[str, Sequence[Sequence[int]]]) -> None:
        """Make topics, each exactly as said."""
        for name, spec in topics.items():
            self._kafka.create(name, spec, placed[name])

    def allow(self, user: User, rights: Iterable[Right]) -> None:
        """Nothing: where there are no users everybody may do everything."""

    def broker_settings(self, brokers: Iterable[int]) -> dict[int, dict[str, str]]:
        """What a fake broker has of settings: those that a run computes with."""
        with self._kafka.now() as control:
            timers = control.timers
        seconds = {
            "broker.session.timeout.ms": timers.session_s,
            "broker.heartbeat.interval.ms": 0.0,  # a death is known at once, and counts from there
            "controller.quorum.fetch.timeout.ms": timers.election_s,
            "controller.quorum.election.timeout.ms": 0.0,
            "controller.quorum.append.linger.ms": 0.0,
            "metadata.max.idle.interval.ms": timers.idle_s,
            "replica.lag.time.max.ms": timers.lag_s,
        }
        return {broker: {key: str(int(value_s * 1000)) for key, value_s in seconds.items()} for broker in brokers}
