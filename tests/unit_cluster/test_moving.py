"""Which moves a wish comes to, by table; and when every broker knows of them."""

from __future__ import annotations

import pytest

from chaoskafka.cluster.moving import Move, broker_of, moves, unmoved
from chaoskafka.cluster.sights import BrokerView, PartitionView
from chaoskafka.errors import NoTarget

ONE, TWO = ("orders", 0), ("orders", 1)


def seen(leader: int, replicas: tuple[int, ...] = (1, 2, 3), isr: tuple[int, ...] | None = None) -> PartitionView:
    return PartitionView(
        topic_id="x", leader=leader, leader_epoch=5, replicas=replicas, isr=replicas if isr is None else isr
    )


@pytest.mark.parametrize(
    ("leader", "isr", "wish", "new", "replicas", "copies"),
    [
        (2, None, "preferred", 1, (1, 2, 3), False),
        (1, None, "any other replica", 2, (2, 1, 3), False),
        (1, (1, 3), "any other replica", 3, (3, 1, 2), False),
        (3, None, "any other replica", 1, (1, 2, 3), False),
        (1, None, "broker 3", 3, (3, 1, 2), False),
        (1, None, "broker 4", 4, (4, 2, 3), True),
    ],
)
def test_the_new_leader_comes_first(
    leader: int, isr: tuple[int, ...] | None, wish: str, new: int, replicas: tuple[int, ...], *, copies: bool
) -> None:
    (move,) = moves({ONE: seen(leader, isr=isr)}, [ONE], wish)
    assert (move.old, move.new, move.replicas, move.copies) == (leader, new, replicas, copies)
    assert move.reorders == (replicas != (1, 2, 3))
    assert move.facts == {"from": leader, "epoch": 5, "to": new, "replicas": list(replicas)}


@pytest.mark.parametrize("wish", ["preferred", "broker 1"])
def test_what_is_led_as_wished_is_left_alone(wish: str) -> None:
    (move,) = moves({ONE: seen(1), TWO: seen(2)}, [ONE, TWO], wish)
    assert move.partition == TWO


@pytest.mark.parametrize(
    ("leadership", "wish", "why"),
    [
        ({}, "preferred", "no broker knows it"),
        ({ONE: seen(-1)}, "preferred", "nobody leads it"),
        ({ONE: seen(1, isr=(1,))}, "any other replica", r"no other replica is in sync; leader 1, isr \[1\]"),
    ],
)
def test_what_cannot_be_moved_is_no_target(
    leadership: dict[tuple[str, int], PartitionView], wish: str, why: str
) -> None:
    with pytest.raises(NoTarget, match=f"orders/0: {why}"):
        moves(leadership, [ONE], wish)


def test_wishes() -> None:
    assert [broker_of(wish) for wish in ("preferred", "any other replica", "broker 12")] == [None, None, 12]
    for wrong in ("", "broker", "broker x", "any", "Preferred"):
        with pytest.raises(ValueError, match="allowed: preferred, any other replica, or broker N"):
            broker_of(wrong)


def view(broker: int, leader: int, epoch: int) -> BrokerView:
    partition = PartitionView(topic_id="x", leader=leader, leader_epoch=epoch, replicas=(1, 2), isr=(1, 2))
    return BrokerView(broker=broker, reachable=True, partitions={ONE: partition})


def test_a_move_is_made_when_every_broker_that_answers_names_it_in_a_later_epoch() -> None:
    move = Move(partition=ONE, old=1, epoch=5, new=2, replicas=(2, 1), reorders=True, copies=False)
    silent = BrokerView(broker=3, reachable=False)
    assert list(unmoved([view(1, 2, 6), view(2, 2, 7), silent], [move])) == []
    assert list(unmoved([view(1, 2, 6), view(2, 1, 5)], [move])) == ["orders/0: broker 2 names 1 in epoch 5, not 2"]
    assert list(unmoved([view(1, 2, 5)], [move])) == ["orders/0: broker 1 names 2 in epoch 5, not 2"]
    assert list(unmoved([BrokerView(broker=1, reachable=True)], [move])) == ["orders/0: broker 1 names nobody, not 2"]
    assert list(unmoved([silent], [move])) == ["no broker answers"]
