"""Pause over nodes in memory: what it proves, undoes, and says when it cannot. Over real ones: tests/cluster."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from chaoskafka.cluster.abilities import CanPause, Deed, Knock
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed, WaitTimeout
from chaoskafka.faults.pause import Pause
from chaoskafka.stage import TargetStage
from tests.memory_cluster import MemoryCluster, MemoryNode, MemoryViews, Trouble


@dataclass
class Stand:
    """Three nodes, and a pause of those that `target` names."""

    trouble: dict[str, Trouble] = field(default_factory=dict)
    cluster: MemoryCluster = field(init=False)

    def __post_init__(self) -> None:
        self.cluster = MemoryCluster(ClusterSpec(), self.trouble)

    def pause(self, target: str):  # type: ignore[no-untyped-def]
        stage = TargetStage(self.cluster, MemoryViews(self.cluster), random.Random(1))  # type: ignore[arg-type]
        return Pause(target=Target.parse(target), settle_s=0.05, heal_s=0.05).inject(stage)

    @property
    def frozen(self) -> list[int]:
        return [node_id for node_id, node in self.cluster.nodes.items() if node.frozen]


@pytest.mark.parametrize("field", ["for_s", "settle_s", "heal_s"])
def test_lengths_are_positive(field: str) -> None:
    assert Pause(target=Target.parse("any")).needs == (CanPause,)
    with pytest.raises(ValueError, match=field):
        Pause(target=Target.parse("any"), **{field: 0})  # type: ignore[arg-type]


def test_those_who_are_hit_are_seen_frozen_and_seen_to_run_on() -> None:
    stand = Stand()
    with stand.pause("all") as hit:
        assert stand.frozen == [1, 2, 3] == list(hit.targets)
        assert {(proof["knock"], proof["frozen"]) for proof in hit.proof.values()} == {("mute", True)}  # type: ignore[index]
    assert stand.frozen == []
    assert {proof["knock"] for proof in hit.heal_proof.values()} == {"answered"}  # type: ignore[index,union-attr]
    assert stand.cluster.times("start") == 0


@pytest.mark.parametrize("how", ["frozen", "running"])
def test_one_that_is_frozen_or_down_already_is_not_touched(how: str) -> None:
    stand = Stand()
    setattr(stand.cluster.nodes[2], how, how == "frozen")
    with pytest.raises(FaultFailed, match=r"node-2 was \w+ already"), stand.pause("all"):
        pytest.fail("it was entered")
    assert stand.cluster.times("pause") == 0


def test_a_second_pause_that_fails_resumes_the_first() -> None:
    def refuse(cluster: MemoryCluster) -> None:
        if cluster.times("pause") == 2:
            raise FaultFailed("no such process")

    stand = Stand({"pause": refuse})
    with pytest.raises(FaultFailed, match="no such process"), stand.pause("all"):
        pytest.fail("it was entered")
    assert stand.frozen == []


Lie = Callable[[type[MemoryNode]], dict[str, object]]
LIES: dict[str, Lie] = {
    "does nothing": lambda _: {"pause": lambda self: Deed(what="pause", means="a lie", acted_ns=1)},
    "it still answers": lambda _: {"knock": lambda self, port, **_: Knock.ANSWERED},
    "nobody listens": lambda _: {"knock": lambda self, port, **_: Knock.REFUSED},
    "its process runs": lambda node: {"state": lambda self: replace(node.state(self), frozen=False)},
    "it is another process": lambda node: {
        "pause": lambda self: (setattr(self, "starts", self.starts + 1), node.pause(self))[1]
    },
}


@pytest.mark.parametrize("lie", LIES)
def test_a_pause_that_was_not_seen_to_bite_fails_and_undoes_itself(lie: str) -> None:
    stand = Stand()
    node = stand.cluster.nodes[2]
    node.__class__ = type("Liar", (MemoryNode,), LIES[lie](MemoryNode))
    with pytest.raises(FaultFailed, match="not seen to bite"), stand.pause("broker 2"):
        pytest.fail("it was entered")
    assert stand.frozen == []


DEAD: dict[str, Lie] = {
    "does nothing": lambda _: {"resume": lambda self: Deed(what="resumption", means="a lie", acted_ns=1)},
    "it is another process": lambda node: {
        "resume": lambda self: (setattr(self, "starts", self.starts + 1), node.resume(self))[1]
    },
}


@pytest.mark.parametrize("lie", DEAD)
def test_one_that_does_not_run_on_as_it_was_is_not_healed(lie: str) -> None:
    stand = Stand()
    node = stand.cluster.nodes[2]
    node.__class__ = type("Liar", (MemoryNode,), DEAD[lie](MemoryNode))
    with pytest.raises(FaultFailed, match="not seen to heal"), stand.pause("all"):
        pass
    assert set(stand.frozen) <= {2}


def test_an_error_in_the_window_heals_and_goes_on_with_what_healing_had_to_say() -> None:
    def refuse(_: MemoryCluster) -> None:
        raise WaitTimeout("no answer")

    with pytest.raises(KeyError) as told, Stand({"resume": refuse}).pause("broker 1"):
        raise KeyError
    assert "no answer" in told.value.__notes__[0]
