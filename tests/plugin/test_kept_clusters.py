"""One cluster serves several tests: each has topics and a run directory of its own, and begins from a whole cluster."""

from __future__ import annotations

import json

import pytest

from chaoskafka.history.header import RunHeader
from chaoskafka.runtimes.fake.lies import Lie
from chaoskafka.testing import clusters
from tests.plugin.conftest import KILL, Fake, Run

pytestmark = pytest.mark.slow


def headers(pytester: pytest.Pytester) -> dict[str, RunHeader]:
    """Of each test's run, by the test's name."""
    found = sorted((pytester.path / "runs").glob("*/2*"))
    return {path.parent.name.partition(".")[2]: RunHeader.load(path) for path in found}


def notes(pytester: pytest.Pytester, name: str) -> str:
    """What a run says of its cluster."""
    (path,) = (pytester.path / "runs").glob(f"*.{name}/2*/events.jsonl")
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return " ".join(event["text"] for event in events if event["event"] == "note")


TWICE = KILL.replace("def test_a_killed_leader_loses_nothing", "def test_one") + KILL.replace(
    "def test_a_killed_leader_loses_nothing", "def test_two"
)


def test_the_next_test_has_the_same_cluster_and_other_topics(run: Run, fake: Fake, pytester: pytest.Pytester) -> None:
    run(TWICE).assert_outcomes(passed=2)
    one, two = headers(pytester)["test_one"], headers(pytester)["test_two"]
    assert one.run_id != two.run_id
    assert not {topic.name for topic in one.topics} & {topic.name for topic in two.topics}
    assert "opened because it is the first one" in notes(pytester, "test_one")
    assert "kept from the test before, and whole" in notes(pytester, "test_two")


def test_what_a_test_left_broken_is_nobodys(run: Run, fake: Fake, pytester: pytest.Pytester) -> None:
    fake(Lie.IGNORE_START)
    result = run(
        "def test_one(traffic, chaos):\n    with chaos.kill('broker 1', for_s=0.1, heal_s=0.3): pass\n"
        "def test_two(traffic): traffic.verify(expect=['accounted'])\n"
    )
    assert result.parseoutcomes() == {"inconclusive": 2, "errors": 1}
    result.stdout.fnmatch_lines(["*nothing was started on node-1*", "*'broker 1' was not seen to heal*"])
    assert "opened because test_orders.test_one left it broken: restoring reported success" in notes(
        pytester, "test_two"
    )


def test_a_cluster_that_is_not_whole_is_replaced(
    run: Run, monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester
) -> None:
    """One test breaks a node behind the harness's back."""
    monkeypatch.setattr(clusters, "WHOLE_S", 0.3)
    run("""
def test_one(kafka_cluster): kafka_cluster._lease.cluster.nodes[1].kill()
def test_two(kafka_cluster): assert kafka_cluster.whence.startswith("fresh: the one before was not whole: ")
""").assert_outcomes(passed=2)


def test_a_marker_asks_for_another_cluster_or_one_of_its_own(run: Run) -> None:
    run("""
@pytest.mark.kafka(nodes=1)
def test_one(kafka_cluster): assert len(kafka_cluster.spec.broker_ids) == 1
@pytest.mark.kafka(controllers=1, brokers=2, timeouts="fast", config={"num.io.threads": 3})
def test_two(kafka_cluster):
    assert kafka_cluster.whence == "fresh: this test asks for a cluster of another kind"
    assert kafka_cluster.spec.config == {"num.io.threads": "3"}
@pytest.mark.kafka(controllers=1, brokers=2, timeouts="fast", config={"num.io.threads": 3}, scope="function")
def test_three(kafka_cluster): assert kafka_cluster.whence == "fresh: this test asks for a cluster of its own"
def test_four(kafka_cluster, kafka_cluster_factory):
    assert kafka_cluster.whence == "fresh: it is the first one"
    other = kafka_cluster_factory(nodes=1)
    assert other.bootstrap_servers != kafka_cluster.bootstrap_servers
    assert other.who("broker 1") == (1,)
""").assert_outcomes(passed=4)


def test_a_cluster_of_a_module_goes_with_the_module(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_later="def test_it(kafka_cluster): assert kafka_cluster.whence == 'fresh: it is the first one'"
    )
    run(
        "def test_one(kafka_cluster): pass\n"
        "def test_two(kafka_cluster): assert kafka_cluster.whence == 'kept from the test before'\n",
        "--chaoskafka-scope=module",
    ).assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        (
            "kafka(nods=3)",
            "*@pytest.mark.kafka (or chaoskafka_cluster): unknown key 'nods'; did you mean 'nodes'*",
        ),
        ("kafka(3)", "*@pytest.mark.kafka takes keywords only*"),
        ("kafka(scope='class')", "*'class' is not one of session, module, function*"),
        ("kafka_traffic(rate=3)", "traffic: got an unexpected keyword argument 'rate'*"),
        ("kafka_traffic(acks=0)", "traffic: acks: 0 is not all or 1*"),
    ],
)
def test_a_slip_in_a_marker_is_told(run: Run, marker: str, told: str) -> None:
    result = run(f"@pytest.mark.{marker}\ndef test_it(traffic): pass\n", head="import pytest\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([told])
