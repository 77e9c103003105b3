"""Cuts on a real cluster: seen to bite on the very way that was cut, seen to heal, and independent of each other."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import Cluster, Knock, Node
from chaoskafka.cluster.netrules import Action, Cut, Way, cut_batch, lift_batch, tables
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.undo import Undo
from chaoskafka.errors import CommandFailed, FaultFailed
from chaoskafka.faults.cut_clients import CutClients
from chaoskafka.faults.isolate import Isolate
from chaoskafka.faults.kill import Kill
from chaoskafka.faults.partition import Partition
from chaoskafka.faults.pause import Pause
from chaoskafka.faults.power_off import PowerOff
from chaoskafka.runtimes.docker import containers
from chaoskafka.runtimes.docker.containers import execute
from chaoskafka.runtimes.docker.node import DockerNode
from tests.cluster.conftest import wait_for_answers

pytestmark = pytest.mark.docker
nightly = pytest.mark.nightly

TARGET = Target.parse("broker 2")
LISTEN = """
import socket, sys
with socket.create_connection((sys.argv[1], 9092)) as s:
    s.settimeout(6)
    try:
        print("closed" if s.recv(1) == b"" else "bytes")
    except ConnectionResetError:
        print("closed")
    except TimeoutError:
        print("nothing")
"""
FOREIGN = "add table inet foreign"


@dataclass
class Stage:
    """A stage on which every target is node 2."""

    nodes: Mapping[int, Node]
    tag: str
    spared: Sequence[str] = ()

    def resolve(self, target: Target, ability: type[Any]) -> tuple[Any, ...]:
        return (self.nodes[2],)

    def act(self, nodes: Sequence[Any], deed: Callable[[Any], Any], *, undo: Undo, detail: str = "") -> list[Any]:
        return [deed(node) for node in nodes]


@pytest.fixture
def node(three: Cluster) -> Iterator[DockerNode]:
    found = three.nodes[2]
    assert isinstance(found, DockerNode)
    yield found
    for each in three.nodes.values():
        assert isinstance(each, DockerNode)
        each.restore(within_s=60)
        assert each.rules() == ""
    wait_for_answers(three)


@pytest.fixture
def other(three: Cluster) -> DockerNode:
    found = three.nodes[1]
    assert isinstance(found, DockerNode)
    return found


@pytest.fixture
def stages(three: Cluster) -> Iterator[Stage]:
    """One after the other, each with a tag of its own."""
    return (Stage(nodes=three.nodes, tag=f"chaoskafka_{number}") for number in itertools.count())


def sight(node: DockerNode, at: DockerNode, plane: Plane = Plane.REPLICATION) -> Knock:
    return node.knock(plane.port, at=at.address, speak=True)


@nightly
def test_nft_takes_every_variant_of_a_cut_as_a_whole(node: DockerNode) -> None:
    variants = itertools.product(
        Way,
        Action,
        ((), (Plane.CLIENTS,), (Plane.CLIENTS, Plane.HOST)),
        ((), ("10.9.9.9",), ("10.9.9.9", "fd00::9")),
        ((), ("10.9.9.8", "fd00::8")),
    )
    batch = ""
    for ways, action, planes, peers, spared in variants:
        if action is Action.DROP or ways is Way.BOTH:
            cut = Cut(ways=ways, action=action, planes=planes, peers=peers)
            batch += cut_batch("chaoskafka_9", cut, spared) + lift_batch("chaoskafka_9")
    assert batch.count("create") == 4 * 3 * 3 * 2
    node.run_rules(batch)
    with pytest.raises(CommandFailed):
        node.run_rules(cut_batch("chaoskafka_9", Cut()) + "add nonsense\n")
    assert node.rules() == ""


@nightly
def test_only_a_host_may_change_its_network(node: DockerNode) -> None:
    assert containers.inspect(node._engine, node._host)["HostConfig"]["CapAdd"] == ["NET_ADMIN"]
    assert not containers.inspect(node._engine, node.kafka)["HostConfig"]["CapAdd"]


@nightly
def test_only_what_is_ours_is_seen_and_restored(node: DockerNode) -> None:
    assert node.reset_connections(["10.9.9.9"]) == 0
    node.run_rules(FOREIGN + "\n" + cut_batch("chaoskafka_4", Cut(peers=("10.9.9.9",))))
    assert tables(node.rules()) == ("chaoskafka_4",)
    node.restore(within_s=10)
    assert node.rules() == ""
    node.run_rules("delete table inet foreign\n")  # it was left alone, or this would fail


@nightly
@pytest.mark.parametrize("action", Action)
def test_an_isolated_node_is_out_of_reach_and_lives(
    node: DockerNode, other: DockerNode, stages: Iterator[Stage], action: Action
) -> None:
    before = node.state()
    with Isolate(target=TARGET, action=action).inject(next(stages)) as hit:
        seen = hit.proof["node-2"]
        assert isinstance(seen, dict)
        refusal = Knock.SILENT if action is Action.DROP else Knock.REFUSED
        assert f"node-1 to node-2:9092 {refusal}" in seen["knocks"]
        assert f"node-3 to node-2:19092 {refusal}" in seen["knocks"]
        assert seen["packets_stopped"]["input"] > 0
        assert sight(node, other) is refusal
        assert hit.asked_ns is not None
        assert hit.acted_ns - hit.asked_ns < 1_000_000_000
    assert hit.heal_proof is not None
    assert sight(other, node) is Knock.ANSWERED
    assert node.state() == before


@nightly
@pytest.mark.parametrize(("ways", "counted"), [(Way.IN, "answers input"), (Way.OUT, "answers output")])
def test_one_way_is_told_from_the_other(node: DockerNode, stages: Iterator[Stage], ways: Way, counted: str) -> None:
    with Isolate(target=TARGET, ways=ways).inject(next(stages)) as hit:
        seen = hit.proof["node-2"]
        assert isinstance(seen, dict)
        assert seen["packets_stopped"][counted] > 0
        assert {comment.split()[-1] for comment in seen["packets_stopped"]} == {counted.removeprefix("answers ")}


@nightly
def test_who_is_spared_gets_through(
    node: DockerNode, other: DockerNode, three: Cluster, stages: Iterator[Stage]
) -> None:
    third = three.nodes[3]
    assert isinstance(third, DockerNode)
    spared = replace(next(stages), spared=(other.address,))
    with pytest.raises(FaultFailed, match=r"node-1 to node-2:19092 answered"):  # node 1 ought to be cut off
        Isolate(target=TARGET, settle_s=3).inject(spared).__enter__()
    assert node.rules() == ""


def test_cut_clients_leaves_brokers_and_controllers_alone(
    node: DockerNode, other: DockerNode, stages: Iterator[Stage]
) -> None:
    with CutClients(target=TARGET).inject(next(stages)) as hit:
        assert sight(other, node) is Knock.ANSWERED
        assert sight(other, node, Plane.CONTROLLER) is Knock.ANSWERED
        assert other.knock(Plane.CLIENTS.port, at=node.address) is Knock.SILENT
        assert other.knock(Plane.HOST.port, at=node.address) is Knock.SILENT
    assert hit.heal_proof is not None
    assert other.knock(Plane.CLIENTS.port, at=node.address) is Knock.ANSWERED


@nightly
def test_faults_that_overlap_do_not_heal_each_other(
    node: DockerNode, other: DockerNode, stages: Iterator[Stage]
) -> None:
    clients = CutClients(target=TARGET).inject(next(stages))
    isolated = Isolate(target=TARGET).inject(next(stages))
    clients.__enter__()
    isolated.__enter__()
    assert tables(node.rules()) == ("chaoskafka_0", "chaoskafka_1")
    isolated.__exit__(None, None, None)
    assert tables(node.rules()) == ("chaoskafka_0",)
    assert sight(other, node) is Knock.ANSWERED
    assert other.knock(Plane.CLIENTS.port, at=node.address) is Knock.SILENT
    with Pause(target=TARGET).inject(next(stages)):
        assert sight(other, node) is Knock.MUTE
        assert other.knock(Plane.CLIENTS.port, at=node.address) is Knock.SILENT
    assert tables(node.rules()) == ("chaoskafka_0",)
    with Kill(target=TARGET).inject(next(stages)):
        assert sight(other, node) is Knock.REFUSED
        assert other.knock(Plane.CLIENTS.port, at=node.address) is Knock.SILENT
        clients.__exit__(None, None, None)
        assert node.rules() == ""
        assert other.knock(Plane.CLIENTS.port, at=node.address) is Knock.REFUSED
    assert other.knock(Plane.CLIENTS.port, at=node.address) is Knock.ANSWERED


@nightly
def test_a_cut_that_does_nothing_is_not_believed(node: DockerNode, stages: Iterator[Stage]) -> None:
    lying = next(stages)
    lying.act = lambda nodes, deed, **_: [node.run_rules("list tables\n")]  # type: ignore[method-assign]
    with (
        pytest.raises(FaultFailed, match=r"was not seen to bite: .*node-1 to node-2:19092 answered"),
        Isolate(target=TARGET, settle_s=2).inject(lying),
    ):
        pytest.fail("it was taken to bite")


@nightly
def test_connections_end_when_they_are_told_to(node: DockerNode, other: DockerNode) -> None:
    assert node.reset_connections([other.address]) > 0
    assert sight(other, node) is Knock.ANSWERED


@nightly
def test_a_plane_between_nodes_is_cut_for_all_that_use_it(
    node: DockerNode, other: DockerNode, stages: Iterator[Stage]
) -> None:
    with Partition(target=TARGET, planes=("controllers",)).inject(next(stages)) as hit:
        assert hit.targets == (2,)
        seen = hit.proof["node-2"]
        assert isinstance(seen, dict)
        assert seen["still_open"] == ["node-1 to node-2:19092 answered", "node-1 to node-2:9092 answered"]
        assert sight(other, node, Plane.CONTROLLER) is sight(node, other, Plane.CONTROLLER) is Knock.SILENT
    assert sight(node, other, Plane.CONTROLLER) is Knock.ANSWERED


@nightly
def test_a_machine_without_power_is_silent_and_boots_again(
    node: DockerNode, other: DockerNode, stages: Iterator[Stage]
) -> None:
    before = node.state()
    with PowerOff(target=TARGET).inject(next(stages)) as hit:
        assert not node.state().running
        assert [other.knock(plane.port, at=node.address, within_s=0.5) for plane in Plane] == [Knock.SILENT] * 4
        assert hit.acted_ns
    assert hit.heal_proof is not None
    assert node.rules() == ""
    assert node.state().started_at != before.started_at
    assert sight(other, node, Plane.REPLICATION) is Knock.ANSWERED


@nightly
def test_a_machine_dies_without_a_word(node: DockerNode, other: DockerNode, stages: Iterator[Stage]) -> None:
    """An open connection hears of a kill at once, and of a machine without power nothing at all."""
    for fault, heard in ((Kill(target=TARGET), "closed"), (PowerOff(target=TARGET), "nothing")):
        with ThreadPoolExecutor(1) as pool:
            listening = pool.submit(execute, node._engine, other._host, ["python3", "-c", LISTEN, node.address])
            wait_until(
                "the listener to be connected",
                read=lambda: execute(node._engine, other._host, ["ss", "-Htn", "dst", f"{node.address}:9092"])[1],
                good=bool,
                within_s=10,
            )
            with fault.inject(next(stages)):
                assert listening.result()[1].strip() == heard
        wait_until(
            "node-2 to be let in",
            read=lambda: node.knock(9092),
            good=lambda knock: knock is Knock.ANSWERED,
            within_s=60,
        )
