"""A control passes only if just what had to fail failed, after what it takes for that came about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from chaoskafka.controls import judge_control
from chaoskafka.errors import ExitCode
from chaoskafka.report.as_junit import as_junit
from chaoskafka.report.as_text import as_text
from chaoskafka.report.result import CheckResult
from chaoskafka.runtimes.fake.lies import Lie
from chaoskafka.scenario.control import AtLeast, Control, Given
from chaoskafka.timing.times import FaultTimes, PartitionTimes
from chaoskafka.verdict import Answer
from tests.rehearsals import SCENARIO, rehearse

pytestmark = pytest.mark.slow

LOST, EFFECT = "no_lost_acknowledged", "took_effect"
CONTROL = Control(fails={LOST: AtLeast(at_least=100)}, given=Given.LEADER_CHANGED)

FIRST_FORBIDDEN = ("forbidden", "permitted")


def check(word: str, answer: Answer = Answer.PASS, found: int = 0, consequence_of: str | None = None) -> CheckResult:
    return CheckResult(
        word=word,
        parameters={},
        answer=answer,
        summary=f"about {word}",
        counted=500,
        found=found,
        evidence=(),
        consequence_of=consequence_of,
    )


def moved(new_leader: int | None = 2) -> FaultTimes:
    epochs = {"old_epoch": 1, "new_epoch": 2}
    partition = PartitionTimes(topic="orders", partition=0, old_leader=1, new_leader=new_leader, **epochs)
    return FaultTimes(index=0, word="pause", targets=(1,), window_s=20.0, partitions=(partition,))


GOOD = (check(EFFECT), check("completed"), check("ordered"), check(LOST, Answer.FAIL, 812))


def test_one_that_fails_as_it_must_passes_and_its_failure_is_expected() -> None:
    follows = check("offsets_agree", Answer.FAIL, 3, consequence_of=LOST)
    checks, verdict = judge_control(CONTROL, [*GOOD, follows], [moved()])
    assert (verdict.answer, verdict.counted) == (Answer.PASS, 1)
    assert verdict.summary == f"failed as it must: {LOST} found 812, at least 100"
    assert {each.word for each in checks if each.expected} == {LOST, "offsets_agree"}


@pytest.mark.parametrize(("labels", "answer"), [(("permitted",), Answer.PASS), (FIRST_FORBIDDEN, Answer.FAIL)])
def test_what_the_settings_forbid_is_no_doing_of_the_recipe(labels: tuple[str, ...], answer: Answer) -> None:
    lost = replace(GOOD[3], evidence=tuple({"label": label} for label in labels))
    checks, verdict = judge_control(CONTROL, [*GOOD[:3], lost], [moved()])
    assert verdict.answer is answer
    assert any(each.expected for each in checks) is (answer is Answer.PASS)


def test_another_failure_is_never_expected() -> None:
    checks, _ = judge_control(CONTROL, [*GOOD, check("ordered", Answer.FAIL, 1)], [moved()])
    assert [each.word for each in checks if each.answer is Answer.FAIL and not each.expected] == ["ordered"]


@pytest.mark.parametrize("lost", [check(LOST), check(LOST, Answer.FAIL, 99)])
def test_what_was_not_noticed_fails_it(lost: CheckResult) -> None:
    checks, verdict = judge_control(CONTROL, [*GOOD[:3], lost], [moved()])
    assert verdict.answer is Answer.FAIL
    assert verdict.summary.startswith("it was not noticed: ")
    assert not any(each.expected for each in checks)


@pytest.mark.parametrize(
    ("checks", "faults", "why"),
    [
        ((check(EFFECT, Answer.UNKNOWN), *GOOD[1:]), [moved()], f"{EFFECT}: about {EFFECT}"),
        ((GOOD[0], check("completed", Answer.UNKNOWN), *GOOD[2:]), [moved()], "completed"),
        (GOOD, [moved(None)], "no partition of who was hit has a new leader"),
        (GOOD[:3], [moved()], "not asked"),
        ((*GOOD[:3], check(LOST, Answer.UNKNOWN)), [moved()], f"{LOST}: unknown"),
    ],
)
def test_what_did_not_come_about_leaves_it_unknown(
    checks: tuple[CheckResult, ...], faults: list[FaultTimes], why: str
) -> None:
    _, verdict = judge_control(CONTROL, checks, faults)
    assert verdict.answer is Answer.UNKNOWN
    assert why in verdict.summary


@pytest.fixture(scope="module")
def text() -> str:
    unsafe = SCENARIO.replace("message_bytes: 60", "message_bytes: 60, acks: 1")  # or a loss would be forbidden
    return unsafe + "control: {fails: {no_lost_acknowledged: {at_least: 1}}, given: leader_changed}\n"


def test_a_run_that_loses_what_it_must_passes_in_every_report(text: str, tmp_path: Path) -> None:
    played = rehearse(tmp_path, Lie.LOSE_MIDDLE, text=text)
    assert played.exit_code is ExitCode.PASS
    lost = next(each for each in played.result.checks if each.word == LOST)
    assert (lost.answer, lost.expected) == (Answer.FAIL, True)
    assert "[as it must]" in as_text(played.result, played.run_dir)
    suites = ET.fromstring(as_junit([(played.result, played.run_dir)]))
    assert (suites.get("failures"), suites.get("errors")) == ("0", "0")


def test_the_same_run_in_which_nothing_is_lost_fails(text: str, tmp_path: Path) -> None:
    played = rehearse(tmp_path, text=text)
    assert played.exit_code is ExitCode.FAIL
    control = next(each for each in played.result.checks if each.word == "control")
    assert control.summary == f"it was not noticed: {LOST} found 0, at least 1"
