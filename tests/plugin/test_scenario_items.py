"""Scenario files as tests: by a marker, or collected from a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.runtimes.fake.lies import Lie
from tests.plugin.conftest import Fake, Run
from tests.rehearsals import SCENARIO

pytestmark = pytest.mark.slow

MARKED = """
@pytest.mark.scenario("killed.yaml", settings=["plan[0].kill.for_s=0.2"])
def test_killed(scenario_report):
    assert scenario_report.lost == 0
    assert scenario_report.history.header.plan[0]["for_s"] == 0.2
"""


def test_a_marker_plays_a_file_before_the_test(run: Run, fake: Fake, pytester: pytest.Pytester) -> None:
    (pytester.path / "killed.yaml").write_text(SCENARIO)
    run(MARKED).assert_outcomes(passed=1)
    fake(Lie.LOSE_MIDDLE)
    result = run(MARKED + "@pytest.mark.scenario('none')\ndef test_none(): pass\n", "--chaoskafka-seed=3")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*no_lost_acknowledged*1 of*",
            "*replay*chaoskafka run *killed.yaml --seed 3 --set *",
            "*no scenario file*'none'*",
        ]
    )


def test_a_directory_is_collected(run: Run, fake: Fake, pytester: pytest.Pytester) -> None:
    """One passes, one fails, one is not answered; each is an item of its own, and of JUnit too."""
    fake(Lie.LOSE_MIDDLE)
    there = pytester.mkdir("scenarios")
    (there / "killed.yaml").write_text(SCENARIO + "expect: [recovered]\n")
    (there / "lossy.yaml").write_text(SCENARIO)
    nobody = SCENARIO.replace("leader of orders/0", "leader of orders/0, leader of orders/1")
    (there / "nobody.yaml").write_text(nobody + "expect: [recovered]\n")
    result = run("def test_plain(): pass\n", "--chaoskafka-scenarios=scenarios", "-v", "--junitxml=report.xml")
    assert result.parseoutcomes() == {"passed": 2, "failed": 1, "inconclusive": 1}
    result.stdout.fnmatch_lines_random(
        [
            "scenarios/killed.yaml::killed PASSED*",
            "scenarios/lossy.yaml::lossy FAILED*",
            "scenarios/nobody.yaml::nobody INCONCLUSIVE*",
            "INCONCLUSIVE scenarios/nobody.yaml::nobody - took_effect: fault not proven: fault 0, NoTarget: *",
        ]
    )
    assert (pytester.path / "report.xml").read_text().count("<error ") == 1


def test_a_slip_in_a_scenario_is_told_before_anything_runs(run: Run, fake: Fake, pytester: pytest.Pytester) -> None:
    pytester.mkdir("scenarios").joinpath("slip.yaml").write_text(SCENARIO.replace("kill", "kil"))
    rehearsal = fake()
    result = run("def test_plain(): pass\n", "--chaoskafka-scenarios=scenarios")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*slip.yaml:*no fault is called 'kil'; did you mean 'kill'?*"])
    assert rehearsal.kafka is None
    assert run("", "--chaoskafka-scenarios=nowhere").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            """
import unittest
class TestIt(unittest.TestCase):
    @pytest.mark.scenario("a.yaml")
    def test_it(self): pass
""",
            "*test_it: @pytest.mark.scenario: on a TestCaseFunction; allowed are functions*",
        ),
        (
            """
@pytest.mark.scenario("a.yaml")
@pytest.mark.scenario("b.yaml")
def test_it(): pass
""",
            "*test_it: @pytest.mark.scenario: 2 of them*allowed is one",
        ),
    ],
    ids=["unittest", "two"],
)
def test_a_marker_that_nobody_would_play_is_refused(run: Run, text: str, told: str) -> None:
    result = run(text)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])


def test_a_directory_is_followed_through_links_and_may_not_be_empty(
    run: Run, pytester: pytest.Pytester, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "killed.yaml").write_text(SCENARIO)
    (pytester.path / "link").symlink_to(tmp_path / "real")
    result = run("def test_plain(): pass\n", "--chaoskafka-scenarios=link", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*link/killed.yaml::killed", "2 tests collected*"])
    pytester.mkdir("empty")
    result = run("def test_plain(): pass\n", "--chaoskafka-scenarios=empty")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--chaoskafka-scenarios empty: no scenario was collected there*"])
