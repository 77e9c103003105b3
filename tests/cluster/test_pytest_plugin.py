"""The pytest plugin on real Kafka: the README's test, and at night what only a real cluster can show."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from chaoskafka.history.read import open_history
from chaoskafka.runtimes.docker.engine import Engine
from tests.cluster.conftest import objects_of
from tests.plugin.conftest import KILL, latest

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[2]
INI = """
[pytest]
chaoskafka_cluster = {nodes: 3, timeouts: fast, config: {offsets.topic.num.partitions: 3}}
addopts = -p no:randomly -p no:cacheprovider
"""
HEAD = """
import pytest
from chaoskafka.testing import *

pytestmark = pytest.mark.kafka_traffic(partitions=3, rate_per_s=300)
"""


def play(pytester: pytest.Pytester, text: str, *options: str) -> pytest.RunResult:
    """The tests of a user, in a process of their own."""
    pytester.makeini(INI)
    pytester.makepyfile(test_orders=HEAD + text)
    return pytester.runpytest_subprocess(*options, timeout=300)


def test_three_lines_on_real_kafka(pytester: pytest.Pytester, engine: Engine) -> None:
    play(pytester, KILL.replace("for_s=0.1", "for_s=4")).assert_outcomes(passed=1)
    history = open_history(latest(pytester))
    (window,) = history.faults
    assert window.evidence["partitions"][f"{history.header.topics[0].name}/0"]["leader"] == window.targets[0]
    (note,) = [event.fields["text"] for event in history.events if "test 1 on it" in str(event.fields.get("text"))]
    assert objects_of(engine, note.partition(",")[0].removeprefix("cluster ")) == []


ONE_CLUSTER = """
def test_figures(traffic, chaos):
    with chaos.pause(leader_of("orders"), for_s=4) as hit:
        hit.wait_for_new_leader()
    report = traffic.verify(also=["no_duplicates", "ordered"])
    assert report.lost == 0 and 1 < report.new_leader_s < 12 and report.unavailable_s > 1

def test_no_fault(traffic):
    traffic.verify()

def test_nobody_verified(traffic, chaos):
    with chaos.kill(follower_of("orders")): pass

def test_away_for_longer_than_allowed(traffic, chaos):
    with chaos.kill(leader_of("orders"), for_s=3): pass
    traffic.verify(also={"unavailable": {"at_most_s": 0.5}})

COUNT = '''
import json, os
from confluent_kafka import Consumer
from chaoskafka.testing import identity
consumer = Consumer({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"], "group.id": "own",
                     "auto.offset.reset": "earliest"})
consumer.subscribe([os.environ["TOPIC"]])
ids = set()
with open(os.path.join(os.environ["CHAOSKAFKA_DIR"], "ids.txt"), "w", buffering=1) as file:
    while True:
        for message in consumer.consume(500, timeout=0.2):
            if not message.error() and (who := identity(message)) and who.id not in ids:
                ids.add(who.id)
                file.write(who.id + "\\\\n")
        print(json.dumps({"read": len(ids)}), flush=True)
'''

def test_an_application_on_the_clusters_own_network(kafka_cluster, traffic, chaos):
    env = {"TOPIC": traffic.topic.name}
    with kafka_cluster.application(["python", "-c", COUNT], env=env, place="client") as app:
        app.wait_until("it reads", lambda status: status and status["read"] > 100)
        with chaos.power_off(leader_of("orders"), for_s=4): pass
        report = traffic.verify(seen=lambda: (app.collect() / "ids.txt").read_text().split())
        assert report.application.handled >= report.acknowledged

def test_the_cluster_is_the_same(kafka_cluster):
    assert kafka_cluster.whence == "kept from the test before"
"""


@pytest.mark.nightly
@pytest.mark.timeout(400)
def test_one_cluster_serves_tests_that_end_in_every_way(pytester: pytest.Pytester) -> None:
    result = play(pytester, ONE_CLUSTER, "-v")
    assert result.parseoutcomes() == {"passed": 4, "errors": 1, "inconclusive": 1, "failed": 1}
    result.stdout.fnmatch_lines_random(
        [
            "*test_no_fault INCONCLUSIVE*",
            "*load ran, and 1 fault played, and the test ended*",
            "E *unavailable: *",
            "*who led*",
            "*orders-*/0: broker * (epoch 0) from * s, broker * (epoch *",
            "*replay * pytest test_orders.py::test_away_for_longer_than_allowed --chaoskafka-seed *",
        ]
    )


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_example_passes_and_its_bug_is_found(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "pytest-orders", pytester.path, dirs_exist_ok=True)
    pytester.runpytest_subprocess(timeout=300).assert_outcomes(passed=2)
    monkeypatch.setenv("ORDERS_BUG", "commit-first")
    result = pytester.runpytest_subprocess("-k", "the_service_and_a_broker_die", timeout=300)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *the application handled *", "E *  lost *: *", "*pass*no_lost_acknowledged*"])
