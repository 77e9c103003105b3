"""Who has which address and which directory in a cluster of processes. Pure, but for the file that names its owner.

In: a directory of the run's own and a spec. Out: paths, addresses, names. Where the networks of a run are in namespaces
of its own, every run has the same addresses; where there are none, each has its own part of the loopback.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chaoskafka.cluster.spec import ClusterSpec, NodeSpec
from chaoskafka.runtimes.owner import process_started_ticks, this_owner

PREFIX = 16  # bits of the network 10.77.0.0
NODES = "10.77.1"  # where nodes stand in it
BRIDGE = "10.77.0.1"  # the supervisor's own, where relays connect from
CLIENTS_MAX = 250  # addresses of one network byte; a run launches some ten


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Of one run. `loopback`: the first three numbers of its nodes' addresses without namespaces; None: it has them."""

    root: Path
    spec: ClusterSpec
    loopback: str | None = None

    @property
    def owner_file(self) -> Path:
        """Who started the run, and which process is its supervisor's outer end."""
        return self.root / "owner.json"

    def write_owner(self, pid: int) -> None:
        """Say so, for a sweep that comes after us. `pid`: of the supervisor's outer end. Raises OSError."""
        document = {"owner": str(this_owner()), "pid": pid, "started_ticks": process_started_ticks(pid)}
        self.owner_file.write_text(json.dumps(document) + "\n")

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
        return f"{self.loopback or NODES}.{place + 1}"

    @property
    def addresses(self) -> Mapping[int, str] | None:
        """Of every node, by its id, where names do not resolve; None where they do, as `config.settings` takes it."""
        return {m.node_id: self.address(m) for m in self.spec.members} if self.loopback else None

    def client_address(self, place: int) -> str:
        """Of the client that was launched as number `place`, from 0."""
        return f"10.77.2.{place + 1}"

    def namespace(self, name: str) -> Path:
        """The file on which a network namespace is mounted."""
        return self.root / "net" / name

    def at(self, name: str) -> Path | None:
        """Where what belongs to that name runs: its namespace; None: where the supervisor does."""
        return None if self.loopback else self.namespace(name)

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


def loopback(run_id: str) -> str:
    """A part of 127.0.0.0/8, all of which is loopback, for one run: beside those of others, and beside 127.0.0.1."""
    second, third = hashlib.sha256(run_id.encode()).digest()[:2]
    return f"127.{second % 253 + 1}.{third}"
