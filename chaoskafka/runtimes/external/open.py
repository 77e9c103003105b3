"""Opens a cluster that is not ours: nothing is started there. Clients and the observer run here, beside the harness.

In: what was found of it. Out: a Cluster without nodes to act on, and places for clients. Leaving ends the clients and
removes their files; what was made *in* the cluster is for whoever made it to delete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from chaoskafka.clock import Clock
from chaoskafka.cluster.abilities import Address, ClientProcess, Cluster, Node
from chaoskafka.cluster.security import Security, User
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.runtimes.external.found import Found
from chaoskafka.runtimes.locks import cluster_directory, remove_directory, run_lock
from chaoskafka.runtimes.process.clients import Clients
from chaoskafka.runtimes.process.control import Supervised
from chaoskafka.runtimes.process.layout import Layout
from chaoskafka.runtimes.removal import Removal

LOOPBACK = "127.0.0"  # clients stand on this machine as it is; nothing of ours listens there


@contextmanager
def open_cluster(
    spec: ClusterSpec, *, found: Found, security: Security, run_id: str, clock: Clock, keep: bool
) -> Iterator[Cluster]:
    """Start the supervisor of client places. Blocks. Raises EnvironmentFailure, and what the clock raises."""
    assert not keep, "there is nothing that could be kept"
    with run_lock(run_id), Removal() as removal:
        layout = Layout(root=cluster_directory(run_id), spec=spec, loopback=LOOPBACK)
        removal.add(f"removing {layout.root}", partial(remove_directory, layout.root))
        (layout.root / "clients").mkdir()
        inside = Supervised(layout.root, plain=True)
        removal.add("ending all processes", inside.end)
        inside.start()
        layout.write_owner(inside.pid)
        clock.pause(0)  # a stop cuts the start short here
        yield ExternalCluster(spec, found=found, security=security, clients=Clients(inside, layout))


class ExternalCluster:
    """Cluster and CanHostClients over a cluster of somebody else's."""

    def __init__(self, spec: ClusterSpec, *, found: Found, security: Security, clients: Clients) -> None:
        self._spec, self._found, self._security, self._clients = spec, found, security, clients

    @property
    def spec(self) -> ClusterSpec:
        return self._spec

    @property
    def nodes(self) -> Mapping[int, Node]:
        """None: whose they are is not us."""
        return {}

    @property
    def versions(self) -> Mapping[str, str]:
        return {"engine": f"cluster {self._found.cluster_id}", **self._found.versions}

    def host_addresses(self) -> Mapping[int, Address]:
        """Each broker, as it is advertised."""
        return self._found.brokers

    def client_addresses(self) -> Mapping[int, Address]:
        """The same: clients stand where the harness does."""
        return self._found.brokers

    def controller_addresses(self) -> Mapping[int, Address]:
        """None: their listener is not for clients. So nobody reads the metadata log."""
        return {}

    def security(self, _: User) -> Security:
        """One way in, for whoever of ours comes."""
        return self._security

    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None, *, package: Path | None = None
    ) -> ClientProcess:
        """Start `argv` beside the harness. Blocks until it was started. Raises EnvironmentFailure."""
        return self._clients.launch(name, argv, env or {}, package)

    def restore(self) -> None:
        """Nothing was done to it by us."""

    def stop_kafka(self) -> tuple[int, ...]:
        """It is not ours to stop."""
        return ()

    def gather_logs(self, into: Path) -> None:
        """Its logs are not ours to read, and this is said where they are looked for."""
        into.mkdir(parents=True, exist_ok=True)
        (into / "missing.txt").write_text("a cluster that is not ours: its logs are with those who keep it\n")
