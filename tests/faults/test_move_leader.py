"""Move leader over a cluster in memory: who is moved where, what is proof, and what is refused."""

from __future__ import annotations

import pytest

from chaoskafka.clock import Clock
from chaoskafka.cluster.abilities import Deed
from chaoskafka.cluster.moving import Move
from chaoskafka.cluster.spec import TopicSpec
from chaoskafka.errors import FaultFailed, NoTarget
from chaoskafka.faults import has_window
from chaoskafka.faults.move_leader import MoveLeader
from tests.faults.stand import Stand
from tests.memory_cluster import MemoryCluster


class MemoryMoves:
    """What Moves offers; with `lies` it reports success and does nothing."""

    def __init__(self, cluster: MemoryCluster, *, lies: bool = False) -> None:
        self.cluster, self.lies, self.made = cluster, lies, list[Move]()

    def make(self, wanted: list[Move], *, within_s: float, clock: Clock) -> Deed:
        self.made += wanted
        if not self.lies:
            self.cluster.led |= {move.partition: (move.new, move.epoch + 1) for move in wanted}
        return Deed(what="election", means="memory", asked_ns=1, acted_ns=2)


def stand(*, lies: bool = False) -> Stand:
    """orders/0 to /2, each led by broker 1 to 3, who have all of it."""
    made = Stand()
    made.cluster.topics = {"orders": TopicSpec(partitions=3), "other": TopicSpec(partitions=1)}
    made.moves = MemoryMoves(made.cluster, lies=lies)  # type: ignore[assignment]
    return made


def test_it_is_an_action_that_needs_no_ability() -> None:
    fault = MoveLeader(topic="orders")
    assert not has_window(fault)
    assert (fault.needs, fault.to, fault.partition) == ((), "any other replica", None)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"to": "anywhere"}, "to: 'anywhere' is not allowed"),
        ({"partition": -1}, "partition"),
        ({"move_s": 0}, "move_s"),
    ],
)
def test_wrong_fields(fields: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        MoveLeader(topic="orders", **fields)  # type: ignore[arg-type]


def test_one_partition_is_moved_and_every_broker_says_so() -> None:
    made = stand()
    with made.inject(MoveLeader(topic="orders", partition=1, to="broker 3")) as hit:
        assert (hit.targets, hit.asked_ns, hit.acted_ns) == ((), 1, 2)
        assert hit.proof["moved"] == {"orders/1": {"from": 2, "epoch": 0, "to": 3, "replicas": [3, 1, 2]}}
        assert hit.heal_proof is None
    assert hit.heal_proof == {"orders/1": {"leader": 3}}


def test_all_of_a_topic_that_are_not_there_yet_are_moved() -> None:
    made = stand()
    with made.inject(MoveLeader(topic="orders", to="preferred")) as hit:
        assert set(hit.proof["moved"]) == {"orders/1", "orders/2"}  # type: ignore[call-overload]
    assert {move.partition[0] for move in made.moves.made} == {"orders"}  # type: ignore[union-attr]


def test_a_move_that_was_granted_and_not_made_is_not_believed() -> None:
    with (
        pytest.raises(FaultFailed, match=r"granted and not seen to bite: .*broker 1 names 1 in epoch 0, not 2"),
        stand(lies=True).inject(MoveLeader(topic="orders", partition=0, move_s=0.05)),
    ):
        pytest.fail("it was entered")


def test_one_that_did_not_stay_is_told() -> None:
    made = stand()
    with (
        pytest.raises(FaultFailed, match="did not stay: orders/0: broker 1 names 1 in epoch 7"),
        made.inject(MoveLeader(topic="orders", partition=0)),
    ):
        made.cluster.led["orders", 0] = (1, 7)


@pytest.mark.parametrize("fields", [{"topic": "strange"}, {"topic": "orders", "partition": 0, "to": "preferred"}])
def test_where_nothing_is_to_be_moved_there_is_no_target(fields: dict[str, object]) -> None:
    with pytest.raises(NoTarget, match="nothing is to be moved"), stand().inject(MoveLeader(**fields)):  # type: ignore[arg-type]
        pytest.fail("it was entered")
