"""A cluster as one test has it: the same nodes, and client places of its own. In: a cluster. Out: one that wraps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from chaoskafka.cluster.abilities import Address, CanHostClients, ClientProcess, Cluster, Node
from chaoskafka.cluster.security import Security, User
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.errors import EnvironmentFailure


class Shared:
    """Cluster and CanHostClients. Places stay until the cluster goes, so each test's have names of their own."""

    def __init__(self, cluster: Cluster, prefix: str) -> None:
        self._cluster, self._prefix = cluster, prefix
        self.launched = 0

    @property
    def spec(self) -> ClusterSpec:
        return self._cluster.spec

    @property
    def nodes(self) -> Mapping[int, Node]:
        return self._cluster.nodes

    @property
    def versions(self) -> Mapping[str, str]:
        return self._cluster.versions

    def host_addresses(self) -> Mapping[int, Address]:
        return self._cluster.host_addresses()

    def client_addresses(self) -> Mapping[int, Address]:
        return self._cluster.client_addresses()

    def controller_addresses(self) -> Mapping[int, Address]:
        return self._cluster.controller_addresses()

    def security(self, user: User) -> Security:
        return self._cluster.security(user)

    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None, *, package: Path | None = None
    ) -> ClientProcess:
        """As `CanHostClients` says, under a name that no other test used."""
        if not isinstance(self._cluster, CanHostClients):
            raise EnvironmentFailure("this runtime has no place for clients")
        self.launched += 1
        return self._cluster.launch(f"{self._prefix}-{name}", argv, env, package=package)

    def restore(self) -> None:
        self._cluster.restore()

    def stop_kafka(self) -> tuple[int, ...]:
        return self._cluster.stop_kafka()

    def gather_logs(self, into: Path) -> None:
        self._cluster.gather_logs(into)
