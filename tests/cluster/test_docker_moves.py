"""Leadership moved and nodes restarted in turn on a real cluster, as its brokers tell it."""

import random
import secrets
from collections.abc import Iterator

import pytest

from chaoskafka.clock import MonotonicClock
from chaoskafka.cluster.abilities import Cluster
from chaoskafka.cluster.admin import Admin
from chaoskafka.cluster.moves import Moves
from chaoskafka.cluster.ready import wait_recovered, wait_topics
from chaoskafka.cluster.sights import active_controller, leadership
from chaoskafka.cluster.spec import TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.errors import NoTarget
from chaoskafka.faults.move_leader import MoveLeader
from chaoskafka.faults.rolling_restart import RollingRestart
from chaoskafka.stage import TargetStage

pytestmark = [pytest.mark.docker, pytest.mark.nightly]


@pytest.fixture
def stage(three: Cluster, views: Views) -> TargetStage:
    return TargetStage(three, views, random.Random(1), clock=MonotonicClock(), moves=Moves(views))


@pytest.fixture
def topic(admin: Admin, views: Views) -> Iterator[str]:
    """Two partitions of two replicas each."""
    name = f"moved-{secrets.token_hex(3)}"
    spec = TopicSpec(partitions=2, replication_factor=2, min_insync_replicas=1)
    admin.create_topics({name: spec}, {name: [[1, 2], [2, 3]]})
    wait_topics(views, {name: spec}, within_s=60, clock=MonotonicClock())
    yield name
    admin.delete_topics([name])


@pytest.mark.parametrize(("to", "led"), [("any other replica", (2, 3)), ("broker 3", (3, 3)), ("broker 1", (1, 1))])
def test_every_broker_names_the_new_leaders_and_those_of_before_again(
    stage: TargetStage, topic: str, to: str, led: tuple[int, int]
) -> None:
    def leaders() -> tuple[int, ...]:
        return tuple(seen.leader for at, seen in leadership(stage.look()).items() if at[0] == topic)

    assert leaders() == (1, 2)
    with MoveLeader(topic=topic, to=to).inject(stage) as hit:
        assert leaders() == led
    assert hit.heal_proof is not None
    after = {at: seen for at, seen in leadership(stage.look()).items() if at[0] == topic}
    assert {len(seen.replicas) for seen in after.values()} == {2}
    with MoveLeader(topic=topic, partition=1, to="any other replica").inject(stage):
        assert leaders()[1] != led[1]
    wish = f"broker {leaders()[0]}"
    with (
        pytest.raises(NoTarget, match="nothing is to be moved"),
        MoveLeader(topic=topic, partition=0, to=wish).inject(stage),
    ):
        pytest.fail("it was entered")


def test_a_rolling_restart_goes_round_and_the_active_controller_is_last(
    three: Cluster, views: Views, stage: TargetStage
) -> None:
    before = {node.spec.name: node.state().started_at for node in three.nodes.values()}
    last = active_controller(views.ask_all())
    with RollingRestart().inject(stage) as hit:
        nodes = hit.proof["nodes"]
        assert isinstance(nodes, dict)
        assert list(nodes)[-1] == f"node-{last}"
        assert {node["stop"]["exit_code"] for node in nodes.values()} == {143}
        assert {node["under_replicated_before"] for node in nodes.values()} == {0}
    assert all(node.state().started_at != before[node.spec.name] for node in three.nodes.values())
    wait_recovered(views, three.spec, within_s=60, clock=MonotonicClock())
