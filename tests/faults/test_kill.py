"""Kill over nodes in memory: what it proves, undoes, and says when it cannot. Over real ones: tests/cluster."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from chaoskafka.cluster.abilities import CanKill, Deed, Knock, NodeState
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed, WaitTimeout
from chaoskafka.faults.kill import Kill
from chaoskafka.stage import TargetStage
from tests.memory_cluster import MemoryCluster, MemoryNode, MemoryViews, Trouble


def test_fields_are_the_yaml_keys() -> None:
    fault = Kill(target=Target.parse("leader of orders/0"), for_s=15)
    assert (fault.for_s, fault.needs) == (15, (CanKill,))
    assert Kill(target=Target.parse("any")).for_s is None


@pytest.mark.parametrize("field", ["for_s", "settle_s", "heal_s"])
@pytest.mark.parametrize("value", [0, -1.0])
def test_lengths_are_positive(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        Kill(target=Target.parse("any"), **{field: value})  # type: ignore[arg-type]


@dataclass
class Stand:
    """Three nodes, and a kill of those that `target` names."""

    trouble: dict[str, Trouble] = field(default_factory=dict)
    cluster: MemoryCluster = field(init=False)

    def __post_init__(self) -> None:
        self.cluster = MemoryCluster(ClusterSpec(), self.trouble)

    def kill(self, target: str):  # type: ignore[no-untyped-def]
        stage = TargetStage(self.cluster, MemoryViews(self.cluster), random.Random(1))  # type: ignore[arg-type]
        return Kill(target=Target.parse(target), settle_s=0.05, heal_s=0.05).inject(stage)

    @property
    def running(self) -> list[int]:
        return [node_id for node_id, node in self.cluster.nodes.items() if node.running]


@dataclass
class Slow(MemoryNode):
    """A node whose kill goes through somebody who answers late."""

    def kill(self) -> Deed:
        deed = super().kill()
        return replace(deed, asked_ns=deed.acted_ns - self.spec.node_id)


def test_a_kill_that_takes_time_says_since_when() -> None:
    stand = Stand()
    for node in stand.cluster.nodes.values():
        node.__class__ = Slow
    with stand.kill("broker 3") as hit:
        assert hit.asked_ns == hit.acted_ns - 3
    with Stand().kill("broker 3") as hit:
        assert hit.asked_ns is None


def test_those_who_are_hit_are_seen_dead_and_seen_alive_again() -> None:
    stand = Stand()
    with stand.kill("all") as hit:
        assert stand.running == []
        assert hit.heal_proof is None
        assert {proof["exit_code"] for proof in hit.proof.values()} == {137}  # type: ignore[index]
    assert stand.running == [1, 2, 3]
    assert {proof["process_started_at"] for proof in hit.heal_proof.values()} == {"start 2"}  # type: ignore[index,union-attr]


def test_a_second_kill_that_fails_starts_the_first_again() -> None:
    def refuse(cluster: MemoryCluster) -> None:
        if cluster.times("kill") == 2:
            raise FaultFailed("no such process")

    stand = Stand({"kill": refuse})
    with pytest.raises(FaultFailed, match="no such process"), stand.kill("all"):
        pytest.fail("it was entered")
    assert stand.running == [1, 2, 3]


def test_a_node_that_was_down_already_is_not_touched() -> None:
    stand = Stand()
    stand.cluster.nodes[2].running = False
    with pytest.raises(FaultFailed, match="node-2 was down already"), stand.kill("all"):
        pytest.fail("it was entered")
    assert stand.running == [1, 3]
    assert stand.cluster.times("kill") == 0


Lie = Callable[[type[MemoryNode]], dict[str, object]]
LIES: dict[str, Lie] = {
    "does nothing": lambda _: {"kill": lambda self: Deed(what="SIGKILL", means="a lie", acted_ns=1)},
    "its port still answers": lambda _: {"knock": lambda self, port, **_: Knock.ANSWERED},
    "its port is only silent": lambda _: {"knock": lambda self, port, **_: Knock.SILENT},
    "it ended otherwise": lambda _: {
        "state": lambda self: NodeState(running=self.running, exit_code=143, started_at="start 1")
    },
    "it was another process": lambda node: {
        "kill": lambda self: (setattr(self, "starts", self.starts + 1), node.kill(self))[1]
    },
}


@pytest.mark.parametrize("lie", LIES)
def test_a_kill_that_was_not_seen_to_bite_fails_and_undoes_itself(lie: str) -> None:
    stand = Stand()
    node = stand.cluster.nodes[2]
    node.__class__ = type("Liar", (MemoryNode,), LIES[lie](MemoryNode))
    with pytest.raises(FaultFailed, match="not seen to bite"), stand.kill("broker 2"):
        pytest.fail("it was entered")
    assert stand.running == [1, 2, 3]


def test_one_that_does_not_start_keeps_none_of_the_others_down() -> None:
    def refuse(cluster: MemoryCluster) -> None:
        if cluster.times("start") == 1:
            raise WaitTimeout("no new process")

    stand = Stand({"start": refuse})
    with pytest.raises(FaultFailed, match=r"not seen to heal: no new process") as told, stand.kill("all"):
        pass
    assert stand.running == [2, 3]
    assert any("node-1" in note for note in told.value.__notes__)


def test_an_error_in_the_window_heals_and_goes_on_with_what_healing_had_to_say() -> None:
    def refuse(_: MemoryCluster) -> None:
        raise WaitTimeout("no new process")

    with pytest.raises(KeyError) as told, Stand({"start": refuse}).kill("broker 1"):
        raise KeyError
    assert "no new process" in told.value.__notes__[0]
    stand = Stand()
    with pytest.raises(KeyError), stand.kill("broker 1") as hit:
        raise KeyError
    assert stand.running == [1, 2, 3]
    assert hit.heal_proof
