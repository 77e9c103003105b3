"""Who has which address and which directory in a cluster of processes. Pure.

In: a directory of the run's own and a spec. Out: paths, addresses, names. All networks of a run are in namespaces of
its own, so every run has the same addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chaoskafka.cluster.spec import ClusterSpec, NodeSpec

PREFIX = 16  # bits of the network 10.77.0.0
BRIDGE = "10.77.0.1"  # the supervisor's own, where relays connect from
CLIENTS_MAX = 250  # addresses of one network byte; a run launches some ten


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Of one run."""

    root: Path
    spec: ClusterSpec

    @property
    def owner_file(self) -> Path:
        """Who started the run, and which process is its supervisor's outer end."""
        return self.root / "owner.json"

    @property
    def log(self) -> Path:
        """What the supervisor itself wrote."""
        return self.root / "supervisor.log"

    @property
    def hosts_file(self) -> Path:
        return self.root / "hosts"

    @property
    def hosts(self) -> str:
        """What stands for /etc/hosts: every node by its name."""
        lines = [f"{self.address(node)} {node.name}" for node in self.spec.members]
        return "\n".join(["127.0.0.1 localhost", *lines]) + "\n"

    def address(self, node: NodeSpec) -> str:
        place = self.spec.members.index(node)
        return f"10.77.1.{place + 1}"

    def client_address(self, place: int) -> str:
        """Of the client that was launched as number `place`, from 0."""
        return f"10.77.2.{place + 1}"

    def namespace(self, name: str) -> Path:
        """The file on which a network namespace is mounted."""
        return self.root / "net" / name

    def node(self, node: NodeSpec) -> Path:
        """A node's own directory."""
        return self.root / "nodes" / node.name

    def disk(self, node: NodeSpec) -> Path:
        """Where Kafka's log directory is: `log.dirs`."""
        return self.node(node) / "data" / "log"

    def kafka_log(self, node: NodeSpec) -> Path:
        """What Kafka wrote on its console."""
        return self.node(node) / "kafka.log"

    def client(self, name: str) -> Path:
        return self.root / "clients" / name
