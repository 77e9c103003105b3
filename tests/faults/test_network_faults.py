"""Isolate, cut_clients, partition over nodes in memory whose packets obey the rules. Over real ones: tests/cluster."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from chaoskafka.cluster.abilities import CanPartition, Deed, Knock
from chaoskafka.cluster.netrules import Action, Way
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed, NoTarget
from chaoskafka.faults import cutting
from chaoskafka.faults.cut_clients import CutClients
from chaoskafka.faults.isolate import Isolate
from chaoskafka.faults.partition import Partition, Shape, parting, weak
from chaoskafka.stage import TargetStage
from tests.memory_cluster import MemoryCluster, MemoryViews
from tests.nodes_on_a_network import NetworkNode, network

TWO = Target.parse("broker 2")
SOON = {"settle_s": 0.05, "heal_s": 0.05}


@dataclass
class Stand:
    """A cluster, and stages on it."""

    cluster: MemoryCluster = field(default_factory=network)
    count: int = 0

    def stage(self, spared: tuple[str, ...] = ()) -> TargetStage:
        self.count += 1
        views = MemoryViews(self.cluster)
        rng = random.Random(1)
        return TargetStage(self.cluster, views, rng, fault=self.count, spared=spared)  # type: ignore[arg-type]

    def node(self, number: int) -> NetworkNode:
        found = self.cluster.nodes[number]
        assert isinstance(found, NetworkNode)
        return found

    @property
    def tables(self) -> Mapping[int, list[str]]:
        return {number: list(self.node(number).tables) for number in self.cluster.nodes}

    def sight(self, asker: int, asked: int, plane: Plane) -> Knock:
        return self.node(asker).knock(plane.port, at=self.node(asked).address)


def proof_of(hit: Any, name: str = "node-2") -> Any:
    return hit.proof[name]


@pytest.mark.parametrize("kind", [Isolate, CutClients, Partition])
@pytest.mark.parametrize("key", ["for_s", "settle_s", "heal_s"])
def test_lengths_are_positive(kind: type[Any], key: str) -> None:
    assert kind.needs == (CanPartition,)
    with pytest.raises(ValueError, match=key):
        kind(target=TWO, **{key: 0})
    with pytest.raises(ValueError, match="action: a rejection"):
        kind(target=TWO, action=Action.REJECT, ways=Way.OUT)


@pytest.mark.parametrize("action", Action)
def test_an_isolated_node_is_seen_cut_off_and_seen_joined(action: Action) -> None:
    stand = Stand()
    with Isolate(target=TWO, action=action, **SOON).inject(stand.stage(("10.0.0.99",))) as hit:
        assert hit.targets == (2,)
        said = Knock.REFUSED if action is Action.REJECT else Knock.SILENT
        assert [stand.sight(1, 2, plane) for plane in Plane] == [said] * 4
        assert stand.sight(1, 3, Plane.CONTROLLER) is Knock.ANSWERED
        assert proof_of(hit)["packets_stopped"]["input"] > 0
        assert "ip saddr { 10.0.0.99 } accept" in stand.node(2).batches[0]
    assert stand.tables == {1: [], 2: [], 3: []}
    assert len(hit.heal_proof["node-2"]["knocks"]) == 4  # type: ignore[index]
    assert stand.node(2).resets == []


def test_connections_are_reset_when_asked_for() -> None:
    stand = Stand()
    with Isolate(target=TWO, reset_connections=True, **SOON).inject(stand.stage()):
        assert stand.node(2).resets == []
    assert stand.node(2).resets == [()]
    with Partition(target=TWO, reset_connections=True, **SOON).inject(stand.stage()):
        pass
    assert stand.node(2).resets[1:] == [("10.0.0.1", "10.0.0.3")]


@pytest.mark.parametrize("ways", [Way.IN, Way.OUT])
def test_one_way_is_proven_by_an_answer_that_was_stopped(ways: Way) -> None:
    stand = Stand()
    with Isolate(target=TWO, ways=ways, **SOON).inject(stand.stage()) as hit:
        chain = "input" if ways is Way.IN else "output"
        assert proof_of(hit)["packets_stopped"][f"answers {chain}"] > 0
        first = "node-2 to node-1" if ways is Way.IN else "node-1 to node-2"
        assert proof_of(hit)["knocks"][0].startswith(first)


def test_a_node_that_is_dead_or_frozen_is_not_taken_for_cut_off() -> None:
    stand = Stand()
    stand.node(2).running = False
    with pytest.raises(FaultFailed, match="was down already"), Isolate(target=TWO, **SOON).inject(stand.stage()):
        pytest.fail("it was entered")
    stand.node(2).running = True

    class Dies(NetworkNode):
        def run_rules(self, batch: str) -> Deed:
            self.running = False
            return super().run_rules(batch)

    stand.node(2).__class__ = Dies
    with pytest.raises(FaultFailed, match="'itself': 'refused'"), Isolate(target=TWO, **SOON).inject(stand.stage()):
        pytest.fail("it was entered")
    assert stand.tables == {1: [], 2: [], 3: []}


class Deaf(NetworkNode):
    """Reports success and does nothing."""

    def run_rules(self, batch: str) -> Deed:
        return Deed(what="rules", means="a lie", acted_ns=1)


class Uncounted(NetworkNode):
    """Silent for another reason than the rules."""

    def rules(self) -> str:
        return ""


class TooMuch(NetworkNode):
    """Cuts all planes, whatever is asked for."""

    def run_rules(self, batch: str) -> Deed:
        return super().run_rules(batch.replace("{ 9092, 9192 }", "{ 9092, 9192, 9093, 19092 }"))


class Sticky(NetworkNode):
    """Never lifts a rule."""

    def run_rules(self, batch: str) -> Deed:
        return super().run_rules("" if "delete" in batch else batch)


@pytest.mark.parametrize(
    ("liar", "says"), [(Deaf, "answered"), (Uncounted, "silent"), (TooMuch, "node-2:19092 silent")]
)
def test_a_cut_that_was_not_seen_to_bite_fails_and_undoes_itself(liar: type[NetworkNode], says: str) -> None:
    stand = Stand()
    stand.node(2).__class__ = liar
    with (
        pytest.raises(FaultFailed, match=f"not seen to bite.*{says}"),
        CutClients(target=TWO, **SOON).inject(stand.stage()),
    ):
        pytest.fail("it was entered")
    assert stand.tables[2] == []


def test_a_cut_that_stays_is_not_healed() -> None:
    stand = Stand()
    with pytest.raises(FaultFailed, match="not seen to heal"), CutClients(target=TWO, **SOON).inject(stand.stage()):
        stand.node(2).__class__ = Sticky


def test_cut_clients_leaves_the_other_planes() -> None:
    stand = Stand()
    with CutClients(target=TWO, **SOON).inject(stand.stage()) as hit:
        seen = {plane: stand.sight(1, 2, plane) for plane in Plane}
        assert {plane for plane, knock in seen.items() if knock is Knock.SILENT} == {Plane.CLIENTS, Plane.HOST}
        assert proof_of(hit)["still_open"] == ["node-1 to node-2:19092 answered", "node-1 to node-2:9093 answered"]


def test_where_nobody_could_see_it_nothing_is_done() -> None:
    stand = Stand(network(ClusterSpec(nodes=1)))
    one = Target.parse("broker 1")
    with pytest.raises(FaultFailed, match="nothing done"), CutClients(target=one).inject(stand.stage()):
        pytest.fail("it was entered")
    assert stand.node(1).batches == []


def test_overlapping_cuts_heal_apart() -> None:
    stand = Stand()
    outer = CutClients(target=TWO, **SOON).inject(stand.stage())
    outer.__enter__()
    with Isolate(target=TWO, **SOON).inject(stand.stage()) as hit:
        assert stand.tables[2] == ["chaoskafka_1", "chaoskafka_2"]
    assert stand.tables[2] == ["chaoskafka_1"]
    assert "other rules: chaoskafka_1" in hit.heal_proof["node-2"]["other_faults"][0]  # type: ignore[index]
    stand.node(2).frozen = True
    outer.__exit__(None, None, None)
    assert stand.tables[2] == []


def test_a_plane_between_nodes_is_cut_alone() -> None:
    stand = Stand()
    with Partition(target=TWO, planes=("controllers",), **SOON).inject(stand.stage()) as hit:
        assert stand.sight(1, 2, Plane.CONTROLLER) is stand.sight(2, 1, Plane.CONTROLLER) is Knock.SILENT
        assert stand.sight(1, 2, Plane.REPLICATION) is stand.sight(1, 2, Plane.CLIENTS) is Knock.ANSWERED
        assert hit.targets == (2,)


def test_a_broker_is_cut_off_from_controllers_that_only_it_connects_to() -> None:
    stand = Stand(network(ClusterSpec(controllers=3, brokers=3)))
    with Partition(target=TWO, planes=("controllers",), **SOON).inject(stand.stage()) as hit:
        assert proof_of(hit)["knocks"] == [f"node-2 to node-{node}:9093 silent" for node in (101, 102, 103)]


def test_two_targets_may_be_parted_from_each_other_only() -> None:
    stand = Stand()
    with Partition(target=TWO, against=Target.parse("broker 3"), **SOON).inject(stand.stage()):
        assert stand.sight(3, 2, Plane.REPLICATION) is Knock.SILENT
        assert stand.sight(1, 2, Plane.REPLICATION) is Knock.ANSWERED
    with pytest.raises(NoTarget, match="parts nobody"), Partition(target=TWO, against=TWO).inject(stand.stage()):
        pytest.fail("it was entered")


def reached(parted: Mapping[int, Sequence[int]], nodes: Sequence[int]) -> dict[int, set[int]]:
    lost = {(a, b) for a, peers in parted.items() for b in peers}
    return {a: {b for b in nodes if (a, b) not in lost and (b, a) not in lost} for a in nodes}


@pytest.mark.parametrize("count", range(2, 10))
@pytest.mark.parametrize("shape", Shape)
def test_shapes(shape: Shape, count: int) -> None:
    if Partition(target=TWO, shape=shape).misfit(ClusterSpec(nodes=count)):
        assert count < 4
        return
    nodes = list(range(1, count + 1))
    parted = parting(shape, [2], nodes)
    sees = reached(parted, nodes)
    assert all(a != b for a, peers in parted.items() for b in peers)
    match shape:
        case Shape.REST:
            assert sees[2] == {2}
        case Shape.HALVES:
            assert len(sees[2]) == count // 2
            assert sorted(len(sees[node]) for node in nodes if node not in sees[2]) == [count - count // 2] * (
                count - count // 2
            )
        case Shape.MINORITY:
            assert len(sees[2]) == (count - 1) // 2
            assert weak(parted, nodes) == tuple(sorted(sees[2]))
        case Shape.BRIDGE:
            assert sees[2] == set(nodes)
            assert len({frozenset(sees[node] - {2}) for node in nodes if node != 2}) == 2
        case Shape.MAJORITIES_RING:
            assert all(len(each) > count / 2 for each in sees.values())
            assert len({frozenset(each) for each in sees.values()}) == count
            assert weak(parted, nodes) == ()


def test_shapes_have_no_room_for_many_and_say_what_they_take() -> None:
    with pytest.raises(NoTarget, match="room for 1 of the target's 2"):
        parting(Shape.HALVES, [1, 2], [1, 2, 3])
    assert Partition(target=TWO, shape=Shape.MAJORITIES_RING).misfit(ClusterSpec(nodes=3)) == (
        "shape: majorities_ring takes 4 nodes, and there are 3"
    )
    with pytest.raises(ValueError, match="against"):
        Partition(target=TWO, shape=Shape.HALVES, against=TWO)
    with pytest.raises(ValueError, match="ways"):
        Partition(target=TWO, shape=Shape.HALVES, ways=Way.IN)


def test_a_whole_ring_is_cut_and_joined() -> None:
    stand = Stand(network(ClusterSpec(nodes=5)))
    ring = Partition(target=TWO, shape=Shape.MAJORITIES_RING, **SOON)
    with ring.inject(stand.stage()) as hit:
        assert hit.targets == ()
        silent = [
            (a, b) for a in range(1, 6) for b in range(1, 6) if stand.sight(a, b, Plane.REPLICATION) is Knock.SILENT
        ]
        assert len(silent) == 10
    assert set(map(tuple, stand.tables.values())) == {()}


def test_only_what_is_no_member_is_shared() -> None:
    assert not hasattr(cutting, "Cutting")  # a class of the module's name would be a word of scenarios
