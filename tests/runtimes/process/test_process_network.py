"""Addresses, names and commands of a cluster of processes: pure text."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from chaoskafka.cluster.spec import NODES_MAX, ClusterSpec
from chaoskafka.runtimes.process import network
from chaoskafka.runtimes.process.layout import BRIDGE, CLIENTS_MAX, PREFIX, Layout, loopback
from chaoskafka.runtimes.process.supervisor import inside

SPECS = (ClusterSpec(nodes=3), ClusterSpec(controllers=NODES_MAX, brokers=NODES_MAX))
INTERFACE_NAME_MAX = 15  # IFNAMSIZ, with its closing zero


@pytest.mark.parametrize("spec", SPECS, ids=["combined", "largest"])
def test_every_place_has_an_address_and_an_interface_of_its_own(spec: ClusterSpec) -> None:
    layout = Layout(root=Path("/runs/r1.cluster"), spec=spec)
    nodes = [layout.address(member) for member in spec.members]
    addresses = [BRIDGE, *nodes, *(layout.client_address(place) for place in range(CLIENTS_MAX))]
    assert len(set(addresses)) == len(addresses)
    whole = ip_network(f"{BRIDGE}/{PREFIX}", strict=False)
    assert all(ip_address(address) in whole for address in addresses)
    lines = [network.place(Path("/n"), address).splitlines()[2] for address in addresses[1:]]
    outer = [line.split()[3] for line in lines]
    assert len(set(outer)) == len(outer)
    assert max(map(len, outer)) <= INTERFACE_NAME_MAX


def test_every_node_is_known_by_its_name() -> None:
    layout = Layout(root=Path("/r"), spec=ClusterSpec(controllers=1, brokers=2))
    assert layout.hosts.splitlines() == [
        "127.0.0.1 localhost",
        "10.77.1.1 node-1",
        "10.77.1.2 node-2",
        "10.77.1.3 node-101",
    ]


def test_without_namespaces_every_node_has_an_address_of_its_own_on_the_loopback() -> None:
    spec = SPECS[1]
    plain = Layout(root=Path("/r"), spec=spec, loopback=loopback("r1"))
    assert plain.addresses is not None
    addresses = set(map(ip_address, plain.addresses.values()))
    assert len(addresses) == len(spec.members)
    assert all(address.is_loopback for address in addresses)
    assert ip_address("127.0.0.1") not in addresses
    assert plain.at("node-1") is None
    assert Layout(root=Path("/r"), spec=spec).addresses is None
    assert loopback("r1") == loopback("r1") != loopback("r2")


def test_a_path_with_blanks_is_one_word_of_the_script() -> None:
    text = network.script([network.place(Path("/a b/net/node-1"), "10.77.1.1")])
    assert text.startswith("set -e\n: > '/a b/net/node-1'\n")
    assert "nsenter --net='/a b/net/node-1' ip link set lo up" in text


def test_a_command_is_prefixed_only_where_it_is_to_run_in_a_place() -> None:
    assert inside(None, ["ip", "link"]) == ["ip", "link"]
    assert inside("/n", ["ip", "link"]) == ["nsenter", "--net=/n", "--", "ip", "link"]
