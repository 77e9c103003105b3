"""No green for nothing: each way of not having asked, or not having been answered, ends otherwise than passed."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from chaoskafka import traffic, under_load
from chaoskafka.runtimes.fake.lies import Lie
from chaoskafka.testing import trial
from tests.plugin.conftest import KILL, Fake, Run, latest

pytestmark = pytest.mark.slow


def test_three_lines_are_a_test(run: Run, pytester: pytest.Pytester) -> None:
    result = run(KILL)
    result.assert_outcomes(passed=1)
    assert (latest(pytester) / "result.json").exists()


def inconclusive(result: pytest.RunResult, *words: str) -> None:
    """Exactly that, and told so."""
    assert result.parseoutcomes() == {"inconclusive": 1}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["*= INCONCLUSIVE =*", *(f"*{word}*" for word in words), "INCONCLUSIVE test_orders.py*"]
    )


def test_traffic_without_a_fault_asks_nothing(run: Run) -> None:
    inconclusive(run("def test_it(traffic): traffic.verify()"), "took_effect*the plan holds no fault")


def test_a_fault_that_does_not_bite(run: Run, fake: Fake) -> None:
    fake(Lie.IGNORE_KILL)
    text = "def test_it(traffic, chaos):\n    with chaos.kill(leader_of('orders'), settle_s=0.2): pass\n"
    inconclusive(run(text), "not seen to bite")


def test_a_swallowed_fault_is_not_forgotten(run: Run, fake: Fake) -> None:
    """Whatever a test does with the error of its fault: the plan holds it, so the verdict misses it."""
    fake(Lie.IGNORE_KILL)
    text = """
def test_it(traffic, chaos):
    with pytest.raises(Exception):
        with chaos.kill(leader_of("orders"), settle_s=0.2): pass
    traffic.verify()
"""
    inconclusive(run(text), "took_effect*fault not proven")


def test_no_load_in_the_window(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message in five seconds, and nobody who waits for the next one: none falls into the window."""
    monkeypatch.setattr(under_load, "gate", lambda *_: None)
    monkeypatch.setattr(traffic, "STEADY_MESSAGES", 0)
    text = """
def test_it(kafka_cluster, chaos):
    topic = kafka_cluster.create_topic("slow", partitions=1)
    with kafka_cluster.traffic(topic, rate_per_s=0.2) as traffic:
        with chaos.kill(follower_of(topic)): pass
    traffic.verify()
"""
    inconclusive(run(text), "no load in the fault's window")


def test_an_end_that_the_audit_did_not_reach(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "audit", lambda *_, **__: [])
    inconclusive(run(KILL), "end not reached")


def test_a_loss_beats_what_is_not_known(run: Run, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(Lie.LOSE_MIDDLE)
    result = run("def test_it(traffic): traffic.verify()")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*took_effect*the plan holds no fault*"])


def test_traffic_that_nobody_verified_before_other_traffic(run: Run) -> None:
    text = """
def test_it(kafka_cluster, chaos):
    with kafka_cluster.traffic(): pass
    with kafka_cluster.traffic() as traffic, chaos.kill("broker 1", for_s=0.1): pass
    traffic.verify()
"""
    result = run(text)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_it*", "*load ran, and the test ended*"])


def test_what_a_test_did_wrong_itself(run: Run) -> None:
    """One cluster for all of them. A test that failed is not asked to verify as well."""
    result = run("""
def test_nobody_verified(traffic, chaos):
    with chaos.kill("broker 1", for_s=0.1): pass

def test_failed(traffic): assert False

def test_no_load(chaos):
    with chaos.kill("any"): pass

def test_in_force(traffic, chaos):
    with chaos.kill("broker 1"): traffic.verify()

def test_after_the_verdict(traffic, chaos):
    with chaos.kill("broker 1", for_s=0.1): pass
    traffic.verify()
    with chaos.kill("any"): pass
""")
    result.assert_outcomes(passed=1, failed=4, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_nobody_verified*",
            "*load ran, and 1 fault played, and the test ended*traffic.verify()*",
            "*_ test_failed _*",
            "*_ test_no_load _*",
            "*UsageError: a fault without load answers nothing*",
            "*UsageError: traffic.verify: a fault is in force*",
            "*_ test_after_the_verdict _*",
            "*UsageError: a fault without load answers nothing*",
        ]
    )


def test_inconclusive_is_an_error_to_junit(run: Run, pytester: pytest.Pytester) -> None:
    run("def test_it(traffic): traffic.verify()\ndef test_plain(): assert False\n", "--junitxml=report.xml")
    suite = ET.parse(pytester.path / "report.xml").getroot()[0]
    assert {key: suite.get(key) for key in ("tests", "errors", "failures")} == {
        "tests": "2",
        "errors": "1",
        "failures": "1",
    }
    first, second = suite.iter("testcase")
    (error,) = first.iter("error")
    assert str(error.get("message")).startswith("INCONCLUSIVE: ")
    assert "took_effect" in str(error.text)
    assert [each.tag for each in second] == ["failure"]


def test_xfail_covers_findings_only(run: Run, fake: Fake) -> None:
    """What was not answered, or not asked, ends as it would without the marker."""
    result = run("""
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.testing import Broken

@pytest.fixture
def no_cluster(kafka_cluster): raise EnvironmentFailure("the cluster never started")

@pytest.mark.xfail
def test_found(kafka_cluster): raise Broken("1 lost")

@pytest.mark.xfail(reason="bug 7")
def test_not_answered(traffic): traffic.verify()

@pytest.mark.xfail(strict=True)
def test_no_cluster(no_cluster): pass
""")
    assert result.parseoutcomes() == {"xfailed": 1, "inconclusive": 1, "errors": 1}
    result.stdout.fnmatch_lines(["*- xfail -*", "it does not cover what is no finding: bug 7*"])
