"""What pytest shows of a test that failed: which messages, where, who led, and how to come back to it."""

from __future__ import annotations

import pytest

from chaoskafka.judge import judge
from chaoskafka.report.result import read_result
from chaoskafka.runtimes.fake.lies import Lie
from chaoskafka.verdict import Answer
from tests.plugin.conftest import KILL, Fake, Run, latest

pytestmark = pytest.mark.slow


def test_a_lost_message_is_shown_with_who_led_and_how_to_look_again(
    run: Run, fake: Fake, pytester: pytest.Pytester
) -> None:
    fake(Lie.LOSE_MIDDLE)
    result = run(KILL, "--chaoskafka-seed", "7")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*traffic.verify()*",
            "*FAIL *test_orders.py::test_a_killed_leader_loses_nothing*(seed 7)*",
            "*no_lost_acknowledged*1 of*",
            "*partition=orders-*/0, producer=0, incarnation=0, sequence=5, acknowledged_offset=*",
            "*failover over fault 0: kill of node*",
            "*run directory *runs/test_orders.test_a_killed_leader_loses_nothing/*",
            "*replay * pytest test_orders.py::test_a_killed_leader_loses_nothing --chaoskafka-seed 7 *-runtime fake*",
            "*who led*",
            "*orders-*/0: broker * (epoch 0) from * s, broker * (epoch 1) from *",
            "*producer 0 message 5: acknowledged at * s, led by broker * (epoch 0)*",
        ]
    )
    result.stdout.no_fnmatch_line("*chaoskafka/testing/*")  # the owner of the test sees his own lines
    run_dir = latest(pytester)
    assert (run_dir / "logs" / "node-1.log").exists()
    assert judge(run_dir) == read_result(run_dir / "result.json")
    assert read_result(run_dir / "result.json").answer is Answer.FAIL


def test_a_gap_is_shown_with_who_led(run: Run) -> None:
    result = run("""
def test_it(traffic, chaos):
    with chaos.kill(leader_of("orders"), for_s=0.3): pass
    traffic.verify(also={"unavailable": {"at_most_s": 0.05}})
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *unavailable: *", "*who led*", "*orders-*/0: broker * (epoch 0) from * s*"])


def test_figures_and_further_checks(run: Run) -> None:
    run("""
def test_it(traffic, chaos):
    with chaos.kill(leader_of("orders"), for_s=0.2) as hit:
        hit.wait_for_new_leader()
    report = traffic.verify(also=["no_duplicates", {"unavailable": {"at_most_s": 30}}])
    assert report.lost == report.duplicated == report.reordered == 0
    assert report.acknowledged > 10
    assert 0 < report.new_leader_s < 30 and report.unavailable_s < 30
    assert report.faults[0].targets == hit.targets
    assert {check.word for check in report.result.checks} >= {"no_duplicates", "unavailable", "took_effect"}
""").assert_outcomes(passed=1)


def test_a_check_in_place_of_the_usual_ones(run: Run, fake: Fake) -> None:
    fake(Lie.LOSE_MIDDLE)
    run("""
def test_it(traffic, chaos):
    with chaos.kill(leader_of("orders"), for_s=0.1): pass
    assert traffic.verify(expect=["recovered"]).lost == 1
""").assert_outcomes(passed=1)


def test_figures_that_nobody_could_say(run: Run) -> None:
    """Each is as its check has it, and where that has a doubt there is none."""
    run("""
from chaoskafka.checks.new_leader import sights_of
from chaoskafka.history.doubt import Doubt, Reason
from chaoskafka.testing import report as asked

def test_it(traffic, chaos, monkeypatch):
    with chaos.kill(leader_of("orders"), for_s=0.2) as hit:
        hit.wait_for_new_leader()
    report = traffic.verify()
    assert report.new_leader_s == max(sight.seen.hi_s for sight in sights_of(report.history))
    monkeypatch.setattr(asked, "sights_of", lambda _: [])
    assert report.new_leader_s is None
    doubts = [Doubt(Reason.TWO_CLOCKS, "observer", "x, not y")]
    monkeypatch.setattr(asked, "sight_doubts", lambda _: doubts)
    monkeypatch.setattr(asked, "gap_doubts", lambda _: doubts)
    with pytest.raises(Inconclusive, match="new_leader_s: two clocks: observer, x, not y"):
        report.new_leader_s
    with pytest.raises(Inconclusive, match="unavailable_s: two clocks"):
        report.unavailable_s
""").assert_outcomes(passed=1)
