"""What a test calls its topics, groups and itself, and what they are called in Kafka and in the run directory."""

from __future__ import annotations

import pytest

from chaoskafka.cluster.conditions import Condition
from chaoskafka.testing import Topic, active_controller, coordinator_of, follower_of, leader_of
from chaoskafka.testing.house import NAME_MAX, run_name
from chaoskafka.testing.who import Names

ORDERS = Topic(asked="orders", name="orders-a1", partitions=3)


def test_the_helpers_make_what_a_scenario_would_write() -> None:
    assert leader_of("orders").text == "leader of orders/0"
    assert leader_of(ORDERS, 2, but="not active controller").text == "leader of orders-a1/2, not active controller"
    assert follower_of("orders", 1).text == "follower of orders/1"
    assert active_controller().text == "active controller"
    assert coordinator_of("readers", but="not broker 1").text == "group coordinator of readers, not broker 1"
    with pytest.raises(ValueError, match="no target"):
        leader_of("orders", but="not the first")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (
            "leader of orders/2, not group coordinator of readers",
            "leader of orders-a1/2, not group coordinator of readers-a1",
        ),
        ("last in-sync replica of orders/0", "last in-sync replica of orders-a1/0"),
        ("follower of orders-a1/0, not leader of other/1", "follower of orders-a1/0, not leader of other/1"),
        ("majority, not broker 2", "majority, not broker 2"),
    ],
)
def test_targets_get_kafkas_names(asked: str, found: str) -> None:
    assert Names({"orders": "orders-a1"}, {"readers": "readers-a1"}).target(asked).text == found


def test_conditions_get_kafkas_names() -> None:
    names = Names({"orders": "orders-a1"})
    for written, found in (
        ({"leader_changed": "orders/1"}, "leader_changed of orders-a1/1"),
        ({"isr_full": "orders"}, "isr_full orders-a1"),
        ("fenced", "fenced"),
    ):
        assert str(names.condition(Condition.parse(written))) == found


def test_a_run_directory_is_named_after_its_test() -> None:
    assert (
        run_name("tests/a/test_orders.py::TestKill::test_it[leader of-1]") == "test_orders.TestKill.test_it-leader-of-1"
    )
    assert run_name("scenarios/leader-killed.yaml::leader-killed") == "leader-killed.yaml.leader-killed"
    long, longer = (run_name(f"test_orders.py::test_{'x' * 200}{end}") for end in ("a", "b"))
    assert len(long) == len(longer) == NAME_MAX
    assert long != longer
