"""Power off over nodes in memory: silence and death are both asked for. Over real ones: tests/cluster."""

from __future__ import annotations

import random

import pytest

from chaoskafka.cluster.abilities import CanPowerOff, Deed
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed
from chaoskafka.faults.power_off import PowerOff
from chaoskafka.stage import TargetStage
from tests.memory_cluster import MemoryCluster, MemoryViews
from tests.nodes_on_a_network import NetworkNode, network


def power_off(cluster: MemoryCluster, target: str = "broker 2"):  # type: ignore[no-untyped-def]
    stage = TargetStage(cluster, MemoryViews(cluster), random.Random(1))  # type: ignore[arg-type]
    return PowerOff(target=Target.parse(target), settle_s=0.05, heal_s=0.05).inject(stage)


@pytest.mark.parametrize("field", ["for_s", "settle_s", "heal_s"])
def test_lengths_are_positive(field: str) -> None:
    assert PowerOff(target=Target.parse("any")).needs == (CanPowerOff,)
    with pytest.raises(ValueError, match=field):
        PowerOff(target=Target.parse("any"), **{field: 0})  # type: ignore[arg-type]


def test_it_is_seen_silent_and_dead_and_seen_to_boot() -> None:
    cluster = network()
    with power_off(cluster) as hit:
        assert hit.targets == (2,)
        assert (hit.proof["node-2"]["knock"], hit.proof["node-2"]["asker"]) == ("silent", "node-1")  # type: ignore[index]
    assert hit.heal_proof["node-2"]["process_started_at"] == "start 2"  # type: ignore[index]


class Deaf(NetworkNode):
    def power_off(self) -> Deed:
        return Deed(what="power off", means="a lie", acted_ns=1)


class Killed(NetworkNode):
    """Dead, and its kernel says so."""

    def power_off(self) -> Deed:
        return self.kill()


class Cut(NetworkNode):
    """Silent, and alive."""

    def power_off(self) -> Deed:
        deed = super().power_off()
        self.running = True
        return deed


@pytest.mark.parametrize("liar", [Deaf, Killed, Cut])
def test_one_that_was_not_seen_to_bite_fails_and_is_undone(liar: type[NetworkNode]) -> None:
    cluster = network()
    node = cluster.nodes[2]
    node.__class__ = liar
    with pytest.raises(FaultFailed, match="not seen to bite"), power_off(cluster):
        pytest.fail("it was entered")
    assert isinstance(node, NetworkNode)
    assert node.running
    assert not node.dark


def test_somebody_must_be_left_to_see_it() -> None:
    cluster = network(ClusterSpec(nodes=3))
    with pytest.raises(FaultFailed, match="nobody would be left"), power_off(cluster, "all"):
        pytest.fail("it was entered")
    assert cluster.times("power_off") == 0
