"""Who a target is, by table: each row is a situation, a target, and the node or the reason."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from chaoskafka.cluster.resolution import Situation, resolve
from chaoskafka.cluster.sights import BrokerView, PartitionView
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import NoTarget


def led(leader: int, epoch: int = 1, isr: tuple[int, ...] = (1, 2, 3)) -> PartitionView:
    return PartitionView(topic_id="t", leader=leader, leader_epoch=epoch, replicas=(1, 2, 3), isr=isr)


NOW = Situation(
    brokers=(1, 2, 3),
    nodes=(1, 2, 3),
    answering=frozenset({1, 2, 3}),
    controller=2,
    leadership={
        ("orders", 0): led(1),
        ("orders", 1): led(2),
        ("orders", 2): led(-1, 4, (3,)),
        ("__offsets", 0): led(1),
    },
    internal=frozenset({"__offsets"}),
    coordinators={"readers": 3},
    transactions={"tx-1": 2},
)
LEFT = replace(NOW, leadership={("orders", 0): led(-1, 7, (2,)), ("orders", 1): led(1)})


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("leader of orders/0", {(1,)}),
        ("leader of orders/0, not active controller", {(1,)}),
        ("leader of orders/1, active controller", {(2,)}),
        ("follower of orders/0", {(2,), (3,)}),
        ("follower of orders/0, not active controller", {(3,)}),
        ("active controller", {(2,)}),
        ("group coordinator of readers", {(3,)}),
        ("transaction coordinator of tx-1", {(2,)}),
        ("any, not transaction coordinator of tx-1", {(1,), (3,)}),
        ("any, not last in-sync replica of orders/0", {(1,), (2,), (3,)}),
        ("broker 3", {(3,)}),
        ("node 3, not active controller", {(3,)}),
        ("any", {(1,), (2,), (3,)}),
        ("any, not active controller, not leader of orders/0", {(3,)}),
        ("any, follower of orders/0, not broker 3", {(2,)}),
        ("majority", {(1, 2), (1, 3), (2, 3)}),
        ("majority, not active controller", {(1, 3)}),
        ("all", {(1, 2, 3)}),
        ("all, not active controller", {(1, 3)}),
    ],
)
def test_who_it_is(text: str, possible: set[tuple[int, ...]]) -> None:
    got = {resolve(Target.parse(text), NOW, random.Random(seed)).nodes for seed in range(40)}
    assert got == possible


@pytest.mark.parametrize(
    ("text", "now", "says"),
    [
        ("leader of orders/1, not active controller", NOW, "node 2 is active controller"),
        ("leader of orders/0, active controller", NOW, "node 1 is not active controller"),
        ("leader of orders/2", NOW, "no leader in epoch 4"),
        ("leader of orders/9", NOW, "no broker knows orders/9"),
        ("any, not leader of nowhere/0", NOW, "no broker knows nowhere/0"),
        ("broker 7", NOW, "there is no broker 7; there are [1, 2, 3]"),
        ("any, not active controller", replace(NOW, controller=None), "no broker knows the active controller"),
        ("active controller", replace(NOW, controller=None), "answered: [1, 2, 3] of [1, 2, 3]"),
        ("last in-sync replica of orders/0", NOW, "none is the last one: the isr of orders/0 is [1, 2, 3]"),
        ("last in-sync replica of orders/0", replace(LEFT, answering=frozenset({1, 3})), "node 2 does not answer"),
        ("transaction coordinator of tx-2", NOW, "coordinator of transactions of 'tx-2'"),
        ("group coordinator of writers", NOW, "coordinator of group 'writers'"),
        ("any", replace(NOW, answering=frozenset()), "there is no candidate"),
        ("majority", replace(NOW, answering=frozenset({1})), "fits nobody"),
        ("majority, not broker 1, not broker 2", NOW, "node 1 is broker 1; node 2 is broker 2"),
        ("follower of orders/0, not broker 3", replace(NOW, answering=frozenset({1, 3})), "node 2 does not answer"),
    ],
)
def test_nobody_fits_and_why(text: str, now: Situation, says: str) -> None:
    with pytest.raises(NoTarget) as nobody:
        resolve(Target.parse(text), now, random.Random(1))
    assert says in str(nobody.value)
    assert text in str(nobody.value)


def test_the_last_in_sync_replica_is_one_whether_it_leads_or_not() -> None:
    for text in ("last in-sync replica of orders/0", "any, last in-sync replica of orders/0"):
        assert resolve(Target.parse(text), LEFT, random.Random(1)).nodes == (2,)


def test_a_dedicated_controller_is_a_node_and_no_broker() -> None:
    apart = replace(NOW, nodes=(1, 2, 3, 101), controller=101)
    assert resolve(Target.parse("active controller"), apart, random.Random(1)).nodes == (101,)
    assert resolve(Target.parse("node 101"), apart, random.Random(1)).nodes == (101,)
    with pytest.raises(NoTarget, match="no broker 101"):
        resolve(Target.parse("broker 101"), apart, random.Random(1))


def test_evidence_is_json_and_says_what_decided() -> None:
    found = resolve(Target.parse("leader of orders/0, not active controller"), NOW, random.Random(1))
    evidence = json.loads(json.dumps(found.evidence))
    assert evidence["partitions"] == {"orders/0": {"leader": 1, "epoch": 1, "isr": [1, 2, 3], "replicas": [1, 2, 3]}}
    assert (evidence["active_controller"], evidence["hits_active_controller"]) == (2, False)
    assert (evidence["leads"], evidence["leads_internal"]) == (["orders/0"], 1)


def test_the_situation_is_made_from_the_newest_answers() -> None:
    old = BrokerView(
        broker=3,
        reachable=True,
        controller=3,
        controller_epoch=1,
        applied_offset=5,
        partitions={("orders", 0): led(3, 0)},
    )
    new = BrokerView(
        broker=1,
        reachable=True,
        controller=2,
        controller_epoch=2,
        applied_offset=9,
        partitions={("orders", 0): led(1, 1)},
    )
    dead = BrokerView(broker=2, reachable=False, error="refused")
    now = Situation.of(ClusterSpec(nodes=3), [new, dead, old], {"readers": None, "others": 1})
    assert now.answering == {1, 3}
    assert now.controller == 2
    assert now.leadership["orders", 0].leader == 1
    assert now.coordinators == {"others": 1}
