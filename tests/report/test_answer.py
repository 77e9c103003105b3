"""The answer in a sentence: the check that decides, how many agree, and how an unjudged run ended."""

from __future__ import annotations

from dataclasses import replace

from chaoskafka.history.events import Event
from chaoskafka.report.answer import why, why_unjudged
from chaoskafka.report.result import Result
from chaoskafka.verdict import Answer


def test_the_check_that_decides_comes_first_and_consequences_are_counted(result: Result) -> None:
    lost, unknown, effect = result.checks
    told = why(replace(result, checks=(replace(lost, word="a", consequence_of="b"), replace(lost, word="b"), effect)))
    assert told == "b: 8 acknowledged messages are nowhere in the log. 1 more fails, 1 as a consequence."
    doubts = (unknown, replace(unknown, word="x"), replace(unknown, word="y"))
    told = why(replace(result, answer=Answer.UNKNOWN, checks=doubts))
    assert told == "all_delivered: the check crashed: KeyError: 'x'. 2 more are unknown."


def test_a_control_says_that_it_failed_as_it_must(result: Result) -> None:
    lost, _, effect = result.checks
    told = why(replace(result, answer=Answer.PASS, checks=(replace(lost, expected=True), effect)))
    assert told == "A control: 1 of 2 checks failed as they must, the others passed."
    assert why(replace(result, answer=Answer.PASS, checks=(effect,))) == (
        "All 1 checks passed: 1 faults were seen to bite and to heal."
    )


def test_a_result_whose_checks_do_not_fit_its_answer_is_no_crash(result: Result) -> None:
    assert why(replace(result, checks=result.checks[2:])) == "No check says why it is fail."


def phase(number: int, state: str) -> Event:
    return Event(number, "phase", {"number": number, "name": f"p{number}", "state": state})


def test_an_unjudged_run_says_where_it_stood_and_its_first_error() -> None:
    begun = [phase(1, "begin"), phase(1, "end"), phase(2, "begin")]
    error = Event(3, "error", {"where": "x", "type": "EnvironmentFailure", "text": "no engine"})
    assert why_unjudged([*begun, error]) == "It ended in phase 2 (p2). EnvironmentFailure: no engine"
    assert why_unjudged(begun[:2]) == "It ended in phase 1 (p1). It left no word of why."
    assert why_unjudged([]) == "It left no word of why."
