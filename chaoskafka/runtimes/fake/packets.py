"""The network of a fake cluster: which packets pass between nodes, by the rules that were put up.

In: batches as `cluster/netrules.py` writes them, read line by line. Out: whether a connection comes about, and a
listing with what each rule stopped, as nft gives it. What nft really makes of such rules only a real node can tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from chaoskafka.cluster.netrules import Action
from chaoskafka.errors import CommandFailed

CLIENT = "192.0.2.1"  # where clients stand: at an address of their own, as good as any
EPHEMERAL = 40000  # the port that a connection is made from
_RULE = re.compile(
    r"add rule inet (?P<table>\S+) (?P<chain>input|output)"
    r"(?: (?P<lo>[io]ifname) \"lo\")?"
    r"(?: ip6? [sd]addr { (?P<peers>[^}]*) })?"
    r"(?: tcp (?P<end>[sd])port { (?P<ports>[^}]*) })?"
    r"(?: (?P<flags>tcp flags & \(syn \| ack\) == syn \| ack|tcp flags & rst == rst|meta l4proto tcp))?"
    r"(?: counter)? (?P<verdict>accept|drop|reject)(?: with tcp reset)?(?: comment \"(?P<comment>[a-z ]+)\")?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """One of the first two packets of a connection, as one end sees it: `answers` is the second."""

    peer: str
    sport: int
    dport: int
    answers: bool


@dataclass(slots=True)
class _Rule:
    words: Mapping[str, str]
    stopped: int = 0

    def matches(self, packet: Packet) -> bool:
        """Loopback and resets are no packets of ours."""
        words = self.words
        port = packet.sport if words["end"] == "s" else packet.dport
        return (
            not words["lo"]
            and "rst" not in words["flags"]
            and ("syn" not in words["flags"] or packet.answers)
            and (not words["peers"] or packet.peer in words["peers"].split(", "))
            and (not words["ports"] or str(port) in words["ports"].split(", "))
        )


class Rules:
    """Those of one node. Not for several threads at once."""

    def __init__(self) -> None:
        self._tables: dict[str, list[_Rule]] = {}

    def run(self, batch: str) -> None:
        """All or nothing. Raises CommandFailed."""
        tables = dict(self._tables)
        for line in batch.splitlines():
            verb, what, _, table, *_ = line.split()
            if (verb, what, table in tables) in (("create", "table", True), ("delete", "table", False)):
                raise CommandFailed("rules in memory", 1, f"{line}: the table is{' not' * (verb == 'delete')} there")
            if what == "table":
                tables[table] = tables.get(table, [])
            if verb == "delete":
                del tables[table]
            if what == "rule":
                found = _RULE.fullmatch(line)
                if not found:
                    raise CommandFailed("rules in memory", 1, f"{line}: not understood")
                tables[table].append(_Rule({key: word or "" for key, word in found.groupdict().items()}))
        self._tables = tables

    def listing(self) -> str:
        """What nft would list, as far as anybody reads it."""
        lines = []
        for table, rules in self._tables.items():
            lines.append(f"table inet {table} {{")
            lines += [
                f'\t\tcounter packets {rule.stopped} bytes 0 {rule.words["verdict"]} comment "{rule.words["comment"]}"'
                for rule in rules
                if rule.words["comment"]
            ]
            lines.append("}")
        return "\n".join(lines)

    def stop(self, chain: str, packet: Packet, *, counting: bool) -> Action | None:
        """What becomes of a packet; None: it passes. Every table is asked, and the first match of each decides."""
        for rules in self._tables.values():
            first = next((rule for rule in rules if rule.words["chain"] == chain and rule.matches(packet)), None)
            if first is not None and first.words["verdict"] != "accept":
                first.stopped += counting
                return Action(first.words["verdict"])
        return None


class Network:
    """All nodes' rules, by their addresses."""

    def __init__(self) -> None:
        self.rules: dict[str, Rules] = {}

    def join(self, address: str) -> Rules:
        return self.rules.setdefault(address, Rules())

    def stops(self, asker: str, asked: str, port: int, *, counting: bool = False) -> Action | None:
        """What stands against a connection from `asker` to `asked`; None: it comes about."""
        if asker == asked:
            return None
        there = {"sport": EPHEMERAL, "dport": port, "answers": False}
        back = {"sport": port, "dport": EPHEMERAL, "answers": True}
        for at, chain, peer, packet in (
            (asker, "output", asked, there),
            (asked, "input", asker, there),
            (asked, "output", asker, back),
            (asker, "input", asked, back),
        ):
            rules = self.rules.get(at)
            stopped = rules.stop(chain, Packet(peer=peer, **packet), counting=counting) if rules else None  # type: ignore[arg-type]
            if stopped:
                return stopped
        return None
