"""The metadata log replayed: epochs counted as brokers count them."""

from __future__ import annotations

import uuid

from chaoskafka.cluster.replay import BrokerState, PartitionState, Replay, State
from chaoskafka.cluster.wire import records

ORDERS = uuid.UUID(int=7)
MADE = [
    records.Topic(name="orders", topic_id=ORDERS),
    records.Partition(
        topic_id=ORDERS,
        partition=0,
        replicas=(1, 2, 3),
        isr=(1, 2, 3),
        leader=1,
        epoch=0,
        partition_epoch=0,
        recovering=False,
        elr=(),
    ),
]


def change(**fields: object) -> records.PartitionChange:
    return records.PartitionChange(topic_id=ORDERS, partition=0, **fields)  # type: ignore[arg-type]


def states(*said: records.Said) -> list[State]:
    replay = Replay()
    return [state for each in (*MADE, *said) for state in replay.apply(each)]


def test_a_change_with_a_leader_raises_both_epochs_and_one_without_only_the_partitions() -> None:
    found = states(change(isr=(2, 3)), change(leader=2), change(leader=-1), change(leader=2), change(isr=(2, 3, 1)))
    epochs = [
        (state.leader, state.epoch, state.partition_epoch) for state in found if isinstance(state, PartitionState)
    ]
    assert epochs == [(1, 0, 0), (1, 0, 1), (2, 1, 2), (-1, 2, 3), (2, 3, 4), (2, 3, 5)]


def test_what_a_change_does_not_name_stays() -> None:
    last = states(change(elr=(2,), isr=(1,)), change(leader=3, recovering=True))[-1]
    assert isinstance(last, PartitionState)
    assert (last.isr, last.elr, last.replicas, last.recovering) == ((1,), (2,), (1, 2, 3), True)


def test_what_the_log_never_named_is_passed_over() -> None:
    replay = Replay()
    assert list(replay.apply(change(leader=2))) == []
    assert list(replay.apply(records.BrokerChange(broker=1, broker_epoch=3, fenced=True))) == []


def test_a_topic_that_is_gone_takes_its_partitions_along() -> None:
    assert len(states(records.RemoveTopic(topic_id=ORDERS), change(leader=2))) == 1


def test_a_registration_stands_until_it_changes_or_comes_anew() -> None:
    replay = Replay()
    said = [
        records.RegisterBroker(broker=1, broker_epoch=5, fenced=True, stopping=False),
        records.BrokerChange(broker=1, broker_epoch=5, fenced=False),
        records.BrokerChange(broker=1, broker_epoch=5, stopping=True),
        records.BrokerChange(broker=1, broker_epoch=5, fenced=True),
        records.RegisterBroker(broker=1, broker_epoch=9, fenced=True, stopping=False),
    ]
    found = [state for each in said for state in replay.apply(each)]
    assert [(s.broker_epoch, s.fenced, s.stopping) for s in found if isinstance(s, BrokerState)] == [
        (5, True, False),
        (5, False, False),
        (5, False, True),
        (5, True, True),
        (9, True, False),
    ]
    assert list(replay.apply(records.UnregisterBroker(broker=1))) == []
    assert list(replay.apply(records.BrokerChange(broker=1, broker_epoch=9, fenced=False))) == []
