"""Nodes in memory with addresses, between which packets go or not: nft rules of ours are read and obeyed.

The rules come as `cluster.netrules` writes them. What nft itself makes of them is for tests/cluster to see.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from chaoskafka.cluster.abilities import Deed, Knock
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec
from chaoskafka.errors import CommandFailed
from tests.memory_cluster import MemoryCluster, MemoryNode

_RULE = re.compile(
    r"add rule inet (?P<table>\S+) (?P<chain>input|output)"
    r"(?: ip [sd]addr { (?P<peers>[^}]*) })?(?: tcp (?P<end>[sd])port { (?P<ports>[^}]*) })?"
    r"(?P<rest> tcp flags & \(syn \| ack\) == syn \| ack| tcp flags & rst == rst| meta l4proto tcp)?"
    r"(?: (?P<lo>[io]ifname \"lo\"))? (?:counter )?(?P<verdict>accept|drop|reject with tcp reset)"
    r"(?: comment \"(?P<comment>[a-z ]+)\")?"
)


@dataclass
class Rule:
    """One line of a batch."""

    words: dict[str, str]
    count: int = 0

    def stops(self, peer: str, sport: int, dport: int, *, answers: bool) -> bool:
        w = self.words
        port = {"s": sport, "d": dport}.get(w["end"])
        return (
            not w["lo"]
            and (not w["peers"] or peer in w["peers"].split(", "))
            and (port is None or str(port) in w["ports"].split(", "))
            and "rst == rst" not in w["rest"]
            and ("syn" not in w["rest"] or answers)
        )


@dataclass
class Table:
    rules: list[Rule] = field(default_factory=list)


class NetworkNode(MemoryNode):
    """CanPartition and CanPowerOff besides."""

    def __init__(self, cluster: MemoryCluster, spec: NodeSpec) -> None:
        super().__init__(cluster, spec)
        self.tables: dict[str, Table] = {}
        self.batches: list[str] = []
        self.resets: list[tuple[str, ...]] = []
        self.dark = False

    @property
    def address(self) -> str:
        return f"10.0.0.{self.spec.node_id}"

    def run_rules(self, batch: str) -> Deed:
        self._cluster.act("run_rules")
        self.batches.append(batch)
        for line in batch.splitlines():
            verb, what, *words = line.split()
            if (verb, what) == ("create", "table"):
                if words[1] in self.tables:
                    raise CommandFailed("nft", 1, "File exists")
                self.tables[words[1]] = Table()
            elif (verb, what) == ("add", "table"):
                self.tables.setdefault(words[1], Table())
            elif (verb, what) == ("delete", "table"):
                del self.tables[words[1]]
            elif (verb, what) == ("add", "rule"):
                found = _RULE.fullmatch(line)
                assert found, line
                self.tables[found["table"]].rules.append(Rule({k: v or "" for k, v in found.groupdict().items()}))
        return Deed(what=f"rules of {self.spec.name}", means="memory", acted_ns=time.monotonic_ns())

    def rules(self) -> str:
        self._cluster.act("rules")
        lines = []
        for name, table in self.tables.items():
            lines.append(f"table inet {name} {{")
            lines += [f'counter packets {r.count} bytes 0 drop comment "{r.words["comment"]}"' for r in table.rules]
        return "\n".join(lines)

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
        if asked is not self:
            if asked.dark or self.dark:
                return Knock.SILENT
            there = self._stops("output", asked, 40000, port, answers=False)
            there = there or asked._stops("input", self, 40000, port, answers=False)
            stopped = there or (
                asked._stops("output", self, port, 40000, answers=True)
                or self._stops("input", asked, port, 40000, answers=True)
            )
            if stopped:
                return Knock.REFUSED if "reject" in stopped.words["verdict"] else Knock.SILENT
        if not asked.running:
            return Knock.REFUSED
        return Knock.MUTE if asked.frozen and speak else Knock.ANSWERED

    def _stops(self, chain: str, peer: MemoryNode, sport: int, dport: int, *, answers: bool) -> Rule | None:
        for table in self.tables.values():
            for rule in table.rules:
                if rule.words["chain"] == chain and rule.stops(peer.address, sport, dport, answers=answers):
                    if rule.words["verdict"] == "accept":
                        break
                    rule.count += 1
                    return rule
        return None


def network(spec: ClusterSpec | None = None, trouble: dict[str, object] | None = None) -> MemoryCluster:
    """A cluster of such nodes."""
    cluster = MemoryCluster(spec or ClusterSpec(), trouble or {})  # type: ignore[arg-type]
    cluster.nodes = {member.node_id: NetworkNode(cluster, member) for member in cluster.spec.members}
    return cluster
