"""Nodes in memory with addresses, between which packets go or not, as rules of ours say. Real ones: tests/cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence

from chaoskafka.cluster.abilities import Deed, Knock
from chaoskafka.cluster.netrules import Action, tables
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec
from chaoskafka.runtimes.fake.packets import Network
from tests.memory_cluster import MemoryCluster, MemoryNode


class NetworkNode(MemoryNode):
    """CanPartition and CanPowerOff besides."""

    def __init__(self, cluster: MemoryCluster, spec: NodeSpec, network: Network) -> None:
        super().__init__(cluster, spec)
        self._network = network
        self._own = network.join(self.address)
        self.batches: list[str] = []
        self.resets: list[tuple[str, ...]] = []
        self.dark = False

    @property
    def address(self) -> str:
        return f"10.0.0.{self.spec.node_id}"

    @property
    def tables(self) -> list[str]:
        return list(tables(self._own.listing()))

    def run_rules(self, batch: str) -> Deed:
        self._cluster.act("run_rules")
        self.batches.append(batch)
        self._own.run(batch)
        return Deed(what=f"rules of {self.spec.name}", means="memory", acted_ns=time.monotonic_ns())

    def rules(self) -> str:
        self._cluster.act("rules")
        return self._own.listing()

    def reset_connections(self, peers: Sequence[str]) -> int:
        self.resets.append(tuple(peers))
        return 1

    def power_off(self) -> Deed:
        self._cluster.act("power_off")
        self.running, self.dark = False, True
        return Deed(what="power off", means="memory", acted_ns=time.monotonic_ns())

    def power_on(self, *, within_s: float) -> Deed:
        self._cluster.act("power_on")
        self.dark = False
        return self.start(within_s=within_s)

    def knock(
        self,
        port: int,
        *,
        at: str | None = None,
        speak: bool = False,
        within_s: float = 1.0,
        until: Knock | None = None,
    ) -> Knock:
        self._cluster.act("knock")
        asked = next(node for node in self._cluster.nodes.values() if node.address == (at or self.address))
        assert isinstance(asked, NetworkNode)
        if asked is not self and (asked.dark or self.dark):
            return Knock.SILENT
        if stopped := self._network.stops(self.address, asked.address, port, counting=True):
            return Knock.REFUSED if stopped is Action.REJECT else Knock.SILENT
        if not asked.running:
            return Knock.REFUSED
        return Knock.MUTE if asked.frozen and speak else Knock.ANSWERED


def network(spec: ClusterSpec | None = None) -> MemoryCluster:
    """A cluster of such nodes."""
    cluster, wires = MemoryCluster(spec or ClusterSpec(), {}), Network()
    cluster.nodes = {member.node_id: NetworkNode(cluster, member, wires) for member in cluster.spec.members}
    return cluster
