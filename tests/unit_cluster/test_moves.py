"""Moving leadership over the protocol: the requests byte for byte, and what a fake cluster makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaoskafka.clock import MonotonicClock
from chaoskafka.cluster import ready
from chaoskafka.cluster.admin import make_topics
from chaoskafka.cluster.moves import Moves, elect_preferred, reassign
from chaoskafka.cluster.moving import moves, unmoved
from chaoskafka.cluster.sights import leadership
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.cluster.wire import frames
from chaoskafka.errors import FaultFailed, NoAnswer
from chaoskafka.runtimes.fake.kafka import FakeKafka
from chaoskafka.runtimes.fake.open import FakeAdmin, FakeCluster, open_cluster
from chaoskafka.runtimes.fake.timers import Timers

LONG_S = 30.0
ONE = ("orders", 0)


def test_an_election_byte_for_byte() -> None:
    frame = frames.encode(elect_preferred([ONE, ("orders", 2), ("b", 1)]).request(2), 7)
    assert frame[8:] == bytes.fromhex(
        "00000007 000a 6368616f736b61666b61 00"  # correlation id, client id, no tags
        "00"  # preferred
        "03"  # two topics
        "07 6f7264657273 03 00000000 00000002 00"
        "02 62 02 00000001 00"
        "00001388 00"  # five seconds
    )


def test_a_reassignment_byte_for_byte() -> None:
    frame = frames.encode(reassign({ONE: (3, 1)}).request(0), 7)
    assert frame[8:] == bytes.fromhex(
        "00000007 000a 6368616f736b61666b61 00"
        "00001388"
        "02 07 6f7264657273"  # one topic
        "02 00000000 03 00000003 00000001 00"  # one partition, two replicas
        "00 00"
    )


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """Four brokers, a topic on three of them."""
    monkeypatch.setattr(ready, "EVERY_S", 0.01)
    kafka = FakeKafka(ClusterSpec(nodes=4), timers=Timers(), lies=frozenset())
    with open_cluster(kafka, {}) as cluster:
        views = Views(cluster.host_addresses())
        ready.wait_formed(views, cluster.spec, within_s=LONG_S, clock=MonotonicClock())
        topics = {"orders": TopicSpec(partitions=2)}
        make_topics(FakeAdmin(kafka), views, topics, within_s=LONG_S, clock=MonotonicClock())
        yield cluster


@pytest.mark.parametrize("wish", ["any other replica", "broker 3", "broker 4"])
def test_leadership_goes_where_it_is_wished_and_home_again(cluster: FakeCluster, wish: str) -> None:
    views = Views(cluster.host_addresses())
    before = leadership(views.ask_all())
    for each in (wish, "preferred"):
        now = leadership(views.ask_all())
        wanted = moves(now, list(now), each)
        deed = Moves(views).make(wanted, within_s=LONG_S, clock=MonotonicClock())
        assert deed.asked_ns is not None
        assert deed.asked_ns <= deed.acted_ns
        assert list(unmoved(views.ask_all(), wanted)) == []
    assert {len(seen.replicas) for seen in leadership(views.ask_all()).values()} == {3}
    assert leadership(views.ask_all()).keys() == before.keys()


def test_a_broker_that_is_down_is_asked_for_nothing(cluster: FakeCluster) -> None:
    views = Views(cluster.host_addresses(), timeout_s=1)
    wanted = moves(leadership(views.ask_all()), [ONE], "any other replica")
    assert wanted[0].new != 1
    cluster.nodes[1].kill()  # the first to be asked
    Moves(views).make(wanted, within_s=LONG_S, clock=MonotonicClock())
    assert list(unmoved(views.ask_all(), wanted)) == []


def test_what_kafka_refuses_is_told(cluster: FakeCluster) -> None:
    views = Views(cluster.host_addresses())
    (wanted,) = moves(leadership(views.ask_all()), [ONE], "any other replica")
    strange = type(wanted)(**{**{name: getattr(wanted, name) for name in wanted.__slots__}, "partition": ("no", 0)})
    with pytest.raises(FaultFailed, match=r"reassigning replicas: Kafka refused: unknown_topic_or_partition no/0"):
        Moves(views).make([strange], within_s=LONG_S, clock=MonotonicClock())


def test_when_no_broker_answers_there_is_no_answer(cluster: FakeCluster) -> None:
    views = Views(cluster.host_addresses(), timeout_s=1)
    wanted = moves(leadership(views.ask_all()), [ONE], "any other replica")
    for node in cluster.nodes.values():
        node.kill()
    with pytest.raises(NoAnswer):
        Moves(views).make(wanted, within_s=LONG_S, clock=MonotonicClock())
