"""The fake cluster keeps the contracts of a real one: ports that refuse, leaders that move, groups that share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chaoskafka.clock import MonotonicClock, wait_until
from chaoskafka.cluster import ready
from chaoskafka.cluster.abilities import Cluster, Knock
from chaoskafka.cluster.admin import make_topics
from chaoskafka.cluster.netrules import Cut, cut_batch
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.security import Protection
from chaoskafka.cluster.sights import leadership
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.cluster.wire import asks
from chaoskafka.errors import FaultFailed, NoAnswer, UsageError
from chaoskafka.runtimes.fake.kafka import FakeKafka
from chaoskafka.runtimes.fake.log import Sender
from chaoskafka.runtimes.fake.open import FakeAdmin, FakeCluster, open_cluster
from chaoskafka.runtimes.fake.timers import Timers

LONG_S = 30.0  # for what takes milliseconds on a quiet machine
ONE = ("orders", 0)
TOPIC = TopicSpec(partitions=2)


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka(ClusterSpec(nodes=3), timers=Timers(), lies=frozenset())


@pytest.fixture
def cluster(kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """Formed, with a topic."""
    monkeypatch.setattr(ready, "EVERY_S", 0.01)
    with open_cluster(kafka, {}) as cluster:
        views = Views(cluster.host_addresses())
        ready.wait_formed(views, cluster.spec, within_s=LONG_S, clock=MonotonicClock())
        make_topics(FakeAdmin(kafka), views, {"orders": TOPIC}, within_s=LONG_S, clock=MonotonicClock())
        yield cluster


def views_of(cluster: Cluster) -> Views:
    return Views(cluster.host_addresses())


def test_a_killed_node_refuses_resets_and_comes_back_at_its_address(cluster: FakeCluster) -> None:
    node, port = cluster.nodes[1], Plane.CLIENTS.port
    address = node.address
    assert node.knock(port) is Knock.ANSWERED
    with views_of(cluster).connect(1) as connection:
        connection.ask(asks.describe_cluster())
        node.kill()
        with pytest.raises(NoAnswer):
            connection.ask(asks.describe_cluster())
    assert node.knock(port, until=Knock.REFUSED) is Knock.REFUSED
    assert (node.state().running, node.state().exit_code) == (False, 137)
    with pytest.raises(FaultFailed, match="nothing to kill"):
        node.kill()
    before = node.state().started_at
    node.start(within_s=1)
    assert node.knock(port, until=Knock.ANSWERED) is Knock.ANSWERED
    assert node.address == address
    assert node.state().started_at != before


def test_a_frozen_node_is_mute_loses_its_partitions_and_answers_later(cluster: FakeCluster) -> None:
    node, port = cluster.nodes[1], Plane.CLIENTS.port
    before = node.state()
    with views_of(cluster).connect(1) as connection:
        node.pause()
        assert node.knock(port) is Knock.ANSWERED
        assert node.knock(port, speak=True) is Knock.MUTE
        assert node.state().frozen
        with pytest.raises(NoAnswer):
            connection.ask(asks.describe_cluster(), timeout_s=0.1)
    views = Views({2: cluster.host_addresses()[2]})

    def led_by_others() -> bool:
        return all(place.leader != 1 for place in leadership(views.ask_all()).values())

    wait_until("the others to lead", read=led_by_others, good=bool, within_s=LONG_S)
    node.resume()
    assert node.knock(port, speak=True, until=Knock.ANSWERED) is Knock.ANSWERED
    assert node.state() == before
    node.pause()
    node.kill()
    assert node.knock(port, until=Knock.REFUSED) is Knock.REFUSED
    with pytest.raises(FaultFailed, match="nothing to pause"):
        node.pause()
    cluster.restore()
    ready.wait_formed(views_of(cluster), cluster.spec, within_s=LONG_S, clock=MonotonicClock())


def led(cluster: FakeCluster, *asked: int) -> dict[int, int]:
    """Who leads each partition, as those brokers say; -1: nobody."""
    views = Views({broker: cluster.host_addresses()[broker] for broker in asked})
    return {number: place.leader for (_, number), place in leadership(views.ask_all()).items()}


def cut(cluster: FakeCluster, **words: Any) -> None:
    """Cut broker 1 off."""
    cluster.nodes[1].run_rules(cut_batch("chaoskafka_0", Cut(**words)))


def test_one_that_cannot_reach_the_controller_loses_its_partitions_until_it_can(
    cluster: FakeCluster, kafka: FakeKafka
) -> None:
    with kafka.now() as control:
        assert control.controller != 1
    cut(cluster, planes=(Plane.CONTROLLER,))
    assert cluster.nodes[2].knock(Plane.CONTROLLER.port, at=cluster.nodes[1].address) is Knock.SILENT
    assert cluster.nodes[2].knock(Plane.REPLICATION.port, at=cluster.nodes[1].address, speak=True) is Knock.ANSWERED
    wait_until(
        "the others to lead", read=lambda: 1 in led(cluster, 2).values(), good=lambda led: not led, within_s=LONG_S
    )
    cluster.restore()
    assert cluster.nodes[1].rules() == ""
    ready.wait_formed(views_of(cluster), cluster.spec, within_s=LONG_S, clock=MonotonicClock())


def test_a_controller_that_hears_nobody_rules_no_more(cluster: FakeCluster, kafka: FakeKafka) -> None:
    with kafka.now() as control:
        ruler = control.controller
    assert ruler is not None
    cluster.nodes[ruler].run_rules(cut_batch("chaoskafka_0", Cut()))

    def now() -> int | None:
        with kafka.now() as control:
            return control.controller

    wait_until("another controller", read=now, good=lambda seen: seen not in (None, ruler), within_s=LONG_S)


def test_followers_that_cannot_fetch_leave_and_no_leader_moves(cluster: FakeCluster, kafka: FakeKafka) -> None:
    before = led(cluster, 2)
    (mine,) = [number for number, leader in before.items() if leader == 1] or [0]
    cut(cluster, planes=(Plane.REPLICATION,))
    assert kafka.produce(("orders", mine), [b"x"], Sender()) is None

    def isr() -> tuple[int, ...]:
        with kafka.now() as control:
            return control.places["orders", mine].isr

    wait_until("the followers to leave", read=isr, good=lambda seen: len(seen) < 3, within_s=LONG_S)
    assert led(cluster, 2) == before
    cluster.restore()
    wait_until("all to be in sync", read=isr, good=lambda seen: len(seen) == 3, within_s=LONG_S)
    assert kafka.produce(("orders", mine), [b"x"], Sender()) is not None


def test_clients_that_are_cut_off_get_nothing_and_no_leader_moves(cluster: FakeCluster, kafka: FakeKafka) -> None:
    before = led(cluster, 2)
    at = next(("orders", number) for number, leader in before.items() if leader == 1)
    cut(cluster, planes=(Plane.CLIENTS, Plane.HOST))
    assert kafka.produce(at, [b"x"], Sender()) is None
    assert led(cluster, 2) == before
    cluster.restore()
    assert kafka.produce(at, [b"x"], Sender()) is not None


def test_a_node_without_power_is_silent_and_boots_as_a_new_process(cluster: FakeCluster) -> None:
    node, other = cluster.nodes[1], cluster.nodes[2]
    before = node.state()
    with views_of(cluster).connect(1) as connection:
        node.power_off()
        assert (node.state().running, node.state().exit_code) == (False, 137)
        assert other.knock(Plane.CLIENTS.port, at=node.address) is Knock.SILENT
        with pytest.raises(NoAnswer, match="no answer in time"):
            connection.ask(asks.describe_cluster(), timeout_s=0.1)
        with pytest.raises(FaultFailed, match="nothing to kill"):
            node.power_off()
        node.power_on(within_s=1)
        with pytest.raises(NoAnswer):
            connection.ask(asks.describe_cluster())
    assert other.knock(Plane.CLIENTS.port, at=node.address, speak=True, until=Knock.ANSWERED) is Knock.ANSWERED
    assert node.state().started_at != before.started_at


def test_leadership_moves_and_the_isr_fills_again(cluster: FakeCluster) -> None:
    views = views_of(cluster)
    before = leadership(views.ask_all())[ONE]
    cluster.nodes[before.leader].kill()

    def moved() -> bool:
        now = leadership(views.ask_all())[ONE]
        return now.leader not in (before.leader, -1) and now.leader_epoch > before.leader_epoch and len(now.isr) == 2

    wait_until("a new leader", read=moved, good=bool, within_s=LONG_S)
    cluster.restore()
    seen = ready.watch_recovery(views, cluster.spec, within_s=LONG_S, clock=MonotonicClock())
    assert seen.ready


def test_without_a_majority_of_controllers_nobody_is_elected(cluster: FakeCluster) -> None:
    views = views_of(cluster)
    for node in (1, 2):
        cluster.nodes[node].kill()
    views_of_three = views.ask(3)
    assert views_of_three.reachable
    assert views_of_three.controller is None
    assert not views_of_three.fenced[1]


def test_what_is_stored_waits_for_every_replica_in_sync(kafka: FakeKafka, cluster: FakeCluster) -> None:
    assert kafka.produce(ONE, [b"a", b"b"], Sender()) == [0, 1]
    leader = leadership(views_of(cluster).ask_all())[ONE].leader
    follower = next(node for node in cluster.nodes if node != leader)
    cluster.nodes[follower].kill()
    assert kafka.produce(ONE, [b"c"], Sender()) is None
    offsets = wait_until(
        "the ISR to shrink", read=lambda: kafka.produce(ONE, [b"c"], Sender()), good=bool, within_s=LONG_S
    )
    assert offsets == [2]
    assert [payload for _, _, payload in kafka.read(ONE, 1, 10)] == [b"b", b"c"]


def test_a_place_changes_hands_only_once_it_was_let_go(kafka: FakeKafka, cluster: FakeCluster) -> None:
    kafka.coordinator("readers")
    kafka.join("readers", "one")
    assert kafka.change("readers", "one", "orders") == ([], [("orders", 0), ("orders", 1)])
    assert kafka.take("readers", "one", [("orders", 0), ("orders", 1)], earliest=True) == {
        ("orders", 0): 0,
        ("orders", 1): 0,
    }
    kafka.join("readers", "two")
    assert kafka.change("readers", "two", "orders") == ([], [])
    assert kafka.change("readers", "one", "orders") == ([("orders", 1)], [])
    kafka.commit("readers", {("orders", 1): 7})
    kafka.let_go("readers", "one", [("orders", 1)])
    assert kafka.change("readers", "two", "orders") == ([], [("orders", 1)])
    assert kafka.take("readers", "two", [("orders", 1)], earliest=True) == {("orders", 1): 7}
    kafka.leave("readers", "two")
    assert kafka.change("readers", "one", "orders") == ([], [("orders", 1)])


def test_a_command_that_is_no_program_of_ours_is_refused(cluster: FakeCluster) -> None:
    with pytest.raises(UsageError, match=r"runtime fake cannot run \['kafka-topics.sh'\]"):
        cluster.launch("mine", ["kafka-topics.sh"])
    with pytest.raises(UsageError, match="environment"):
        cluster.launch("mine", ["python", "-m", "x", "{}"], {"A": "1"})


@pytest.mark.parametrize("protection", [Protection.TLS, Protection.SASL_SCRAM])
def test_a_protected_cluster_is_refused(protection: Protection) -> None:
    kafka = FakeKafka(ClusterSpec(security=protection), timers=Timers(), lies=frozenset())
    with (
        pytest.raises(UsageError, match=r"cluster\.security: .*runtime fake speaks plaintext only"),
        open_cluster(kafka, {}),
    ):
        pass
