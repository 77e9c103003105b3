"""Rules that cut a node off, as a batch of commands for nft. Pure; a runtime runs it in the node's network namespace.

In: who is cut off on which planes, which ways, and how; who is spared. Out: commands, one a line, since a closing brace
and the next statement on one line are a syntax error, and half a cut would be worse than none. Each fault has a table
of its own, so overlapping faults do not know of each other: what one table accepts another may still drop, and deleting
one leaves the rest. Nothing else is ever touched.

A rule for a plane matches its port on both ends: the node's own listener, and that of others to which it connects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address

from chaoskafka.cluster.planes import Plane

PREFIX = "chaoskafka_"  # of every table of ours
POWER = f"{PREFIX}power"  # the table that silences a machine without power
PRIORITY = -300  # before connection tracking and the engine's own rules
_TABLE = re.compile(rf"{PREFIX}\w{{1,50}}")
_LISTED = re.compile(rf"^table inet ({PREFIX}\w+)", re.MULTILINE)
_COUNTED = re.compile(r'counter packets (\d+) bytes \d+ .*comment "([a-z ]+)"')


class Way(StrEnum):
    """Which packets of the node are stopped."""

    BOTH = "both"
    IN = "in"  # those that arrive
    OUT = "out"  # those that leave


class Action(StrEnum):
    """What becomes of them."""

    DROP = "drop"  # silence, as of a cable that was pulled
    REJECT = "reject"  # resets, as of a firewall that says so


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What one node is cut off from. Raises ValueError for an address that is none, and for half a rejection."""

    peers: tuple[str, ...] = ()  # addresses; none: everybody
    planes: tuple[Plane, ...] = ()  # none: all traffic
    ways: Way = Way.BOTH
    action: Action = Action.DROP

    def __post_init__(self) -> None:
        for peer in self.peers:
            ip_address(peer)
        if self.action is Action.REJECT and self.ways is not Way.BOTH:
            raise ValueError(
                "action: a rejection is told to whoever sent, so it stops both ways; use drop, or ways both"
            )

    @property
    def chains(self) -> tuple[str, ...]:
        """The hooks where something is stopped."""
        return {Way.BOTH: ("input", "output"), Way.IN: ("input",), Way.OUT: ("output",)}[self.ways]


def cut_batch(table: str, cut: Cut, spared: Sequence[str] = ()) -> str:
    """The commands that make `cut` in a new table. `spared`: addresses that stay connected whatever is cut.

    Raises ValueError for a table that is not ours. Running it fails if there is such a table already.
    """
    return _text([*_frame(table), *_sparing(table, spared), *_cutting(table, cut)])


def lift_batch(table: str) -> str:
    """The commands that delete a table, whether it is there or not. Raises ValueError for one that is not ours."""
    _check(table)
    return _text([f"add table inet {table}", f"delete table inet {table}"])


def tables(listing: str) -> tuple[str, ...]:
    """Names of our tables in what nft lists."""
    return tuple(_LISTED.findall(listing))


def ours(listing: str) -> str:
    """The part of what nft lists that is ours."""
    parts = re.split(r"^(?=table )", listing, flags=re.MULTILINE)
    return "".join(part for part in parts if tables(part))


def reset_command(peers: Sequence[str]) -> tuple[str, ...]:
    """Ends a node's TCP connections to those addresses (none: to everybody but itself), and prints a line for each."""
    to_all = ("not", "dst", "127.0.0.0/8")
    wanted = [word for peer in peers for word in ("or", "dst", peer)][1:] or to_all
    return ("ss", "-KHtn", "state", "connected", "(", *wanted, ")")


def dropped(listing: str, table: str) -> Mapping[str, int]:
    """How many packets the rules of one table stopped, by their comments; empty when there is no such table."""
    found: dict[str, int] = {}
    for part in re.split(r"^(?=table )", listing, flags=re.MULTILINE):
        if tables(part) == (table,):
            for count, comment in _COUNTED.findall(part):
                found[comment] = found.get(comment, 0) + int(count)
    return found


def answers(chain: str) -> str:
    """The comment of the rules that stop the second packet of a handshake: who sends it, got the first one.

    In the chain input: it was sent to a peer, which is there, and answered. In output: one arrived from a peer.
    """
    return f"answers {chain}"


def _frame(table: str) -> Iterator[str]:
    _check(table)
    yield f"create table inet {table}"
    for chain in ("input", "output"):
        hook = f"type filter hook {chain} priority {PRIORITY} ; policy accept ;"
        yield f"add chain inet {table} {chain} {{ {hook} }}"
    yield f'add rule inet {table} input iifname "lo" accept'
    yield f'add rule inet {table} output oifname "lo" accept'


def _sparing(table: str, spared: Sequence[str]) -> Iterator[str]:
    for chain in ("input", "output"):
        for match in _addresses(chain, spared):
            yield f"add rule inet {table} {chain} {match} accept"


def _cutting(table: str, cut: Cut) -> Iterator[str]:
    if cut.action is Action.REJECT:
        # The reset by which a rejection is told to a peer leaves through our own chain.
        yield f"add rule inet {table} output tcp flags & rst == rst accept"
    for chain in cut.chains:
        for peers in _addresses(chain, cut.peers) if cut.peers else ("",):
            for match, comment in _traffic(chain, cut.planes):
                for verdict in _verdicts(match, cut.action):
                    words = f"{peers} {match} {verdict}".split()
                    yield f'add rule inet {table} {chain} {" ".join(words)} comment "{comment}"'


def _traffic(chain: str, planes: Sequence[Plane]) -> Iterator[tuple[str, str]]:
    """What is matched, and the comment of the rule that does. The first that matches counts a packet."""
    ports = ", ".join(str(plane.port) for plane in planes)
    handshake = "tcp flags & (syn | ack) == syn | ack"
    yield (f"tcp sport {{ {ports} }} {handshake}" if ports else handshake), answers(chain)
    if ports:
        yield f"tcp sport {{ {ports} }}", chain
        yield f"tcp dport {{ {ports} }}", chain
    else:
        yield "", chain


def _verdicts(match: str, action: Action) -> Iterator[str]:
    if action is Action.DROP:
        yield "counter drop"
        return
    yield "counter reject with tcp reset" if match else "meta l4proto tcp counter reject with tcp reset"
    if not match:
        yield "counter drop"  # what is not TCP


def _addresses(chain: str, addresses: Sequence[str]) -> Iterator[str]:
    """A match for the other end, per family."""
    end = "saddr" if chain == "input" else "daddr"
    for family, version in (("ip", 4), ("ip6", 6)):
        own = [address for address in addresses if ip_address(address).version == version]
        if own:
            yield f"{family} {end} {{ {', '.join(dict.fromkeys(own))} }}"


def _check(table: str) -> None:
    if not _TABLE.fullmatch(table):
        raise ValueError(f"{table!r} is no table of ours: {PREFIX}… of letters, digits and _")


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
