"""What real brokers say, over a connection of their own to each."""

from __future__ import annotations

import random

import pytest

from chaoskafka.clock import MonotonicClock
from chaoskafka.cluster import sights
from chaoskafka.cluster.abilities import CanKill, Cluster
from chaoskafka.cluster.admin import OFFSETS_TOPIC, Admin, make_offsets_topic, make_topics
from chaoskafka.cluster.ready import wait_recovered, watch_recovery
from chaoskafka.cluster.resolution import Situation, resolve
from chaoskafka.cluster.spec import TopicSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.views import Views
from chaoskafka.errors import EnvironmentFailure

pytestmark = pytest.mark.docker
CLOCK = MonotonicClock()


def test_every_broker_says_the_same_of_a_whole_cluster(three: Cluster, views: Views, admin: Admin) -> None:
    ids = make_topics(admin, views, {"seen": TopicSpec(partitions=3)}, within_s=120, clock=CLOCK)
    whole = wait_recovered(views, three.spec, within_s=120, clock=CLOCK)
    for view in whole.views:
        assert view.fenced == {1: False, 2: False, 3: False}
        assert view.applied_offset is not None
        assert view.applied_offset > 0
        assert {seen.topic_id for (topic, _), seen in view.partitions.items() if topic == "seen"} == {ids["seen"]}
    assert sights.active_controller(whole.views) in {1, 2, 3}
    assert sights.disagreements(whole.views) == []


def test_topics_are_made_to_keep_everything(three: Cluster, views: Views, admin: Admin) -> None:
    topics = {"kept": TopicSpec(partitions=1, config={"max.message.bytes": "2000000"})}
    make_topics(admin, views, topics, within_s=120, clock=CLOCK)
    settings = admin.topic_settings(["kept"])["kept"]
    assert settings["retention.ms"] == "-1"
    assert settings["min.insync.replicas"] == "2"
    assert settings["unclean.leader.election.enable"] == "false"
    assert settings["max.message.bytes"] == "2000000"
    with pytest.raises(EnvironmentFailure, match="exist already"):
        make_topics(admin, views, topics, within_s=120, clock=CLOCK)
    admin.delete_topics(["kept", "never-made"])


def test_effective_settings_of_each_broker(admin: Admin) -> None:
    settings = admin.broker_settings([1, 2, 3])
    assert {broker: found["broker.session.timeout.ms"] for broker, found in settings.items()} == dict.fromkeys(
        (1, 2, 3), "3000"
    )
    assert settings[2]["node.id"] == "2"


def test_the_offsets_topic_exists_before_anyone_needs_it(views: Views) -> None:
    assert make_offsets_topic(views, within_s=120, clock=CLOCK) == 3
    assert any(topic == OFFSETS_TOPIC for topic, _ in sights.leadership(views.ask_all()))
    assert views.coordinator("readers") in {1, 2, 3}


def test_a_dead_leader_is_a_value_and_its_return_is_awaited(three: Cluster, views: Views, admin: Admin) -> None:
    make_topics(admin, views, {"led": TopicSpec(partitions=3)}, within_s=120, clock=CLOCK)
    target = Target.parse("leader of led/0, not active controller")
    now = Situation.of(three.spec, views.ask_all())
    resolved = resolve(target, now, random.Random(1))
    (victim,) = resolved.nodes
    assert resolved.evidence["hits_active_controller"] is False
    node = three.nodes[victim]
    assert isinstance(node, CanKill)
    node.kill()
    try:
        broken = watch_recovery(views, three.spec, within_s=1.0, clock=CLOCK)
        assert not broken.ready
        assert any(f"broker {victim}" in text for text in broken.missing)
        dead = views.ask(victim)
        assert not dead.reachable
        assert dead.error
    finally:
        node.start(within_s=60)
    assert wait_recovered(views, three.spec, within_s=180, clock=CLOCK).ready
