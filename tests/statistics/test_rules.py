"""Rules: what can be asked, and that each answer can be had, unknown among them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaoskafka.errors import UsageError
from chaoskafka.statistics.rules import RATIO_COUNT_MIN, Rule, judge_rule
from chaoskafka.statistics.samples import metrics
from chaoskafka.statistics.side import Side, Unmeasured
from chaoskafka.verdict import Answer
from tests.statistics.made import result_of, step

Took = tuple[float, float]


def side(phase: str, tooks: list[Took], bound: Took | None = None, scenario: str = "killed") -> Side:
    results = [
        result_of(number, [step(phase, took, bound=bound)], scenario=scenario) for number, took in enumerate(tooks)
    ]
    return Side(name="some", runs=len(results), unmeasured=(), made_with={}, metrics=metrics(results))


def many(factor: float, count: int = RATIO_COUNT_MIN) -> list[Took]:
    return [(factor * (1 + i / 200), factor * (1 + i / 200)) for i in range(count)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a rule"),
        ("redirect", "not a rule"),
        ("redirect > 2", "not a rule"),
        ("redirect > 1e9x", "not a rule"),
        ("redirect < 2x", "not a rule"),
        ("redirect outside", "not a rule"),
        ("redirct > 2x", "no such step"),
        ("kill.redirct outside bound", "no such step"),
        ("redirect > 0.5x", "factor"),
        ("redirect > 100000x", "factor"),
        ("kill.elect > 2x", "timer"),
        ("unavailable > 2x", "timer"),
    ],
)
def test_what_is_no_rule_is_refused_with_what_is_allowed(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Rule.parse(text)


@pytest.mark.parametrize(
    ("tooks", "answer"),
    [
        ([(2.1, 2.2), (2.8, 2.9)], Answer.PASS),
        ([(2.1, 2.2), (2.9, 3.1)], Answer.UNKNOWN),
        ([(2.9, 3.1), (3.1, 3.2)], Answer.FAIL),
    ],
)
def test_every_sample_must_lie_in_its_bound(tooks: list[Took], answer: Answer) -> None:
    rule = Rule.parse("elect outside bound")
    (ruling,) = judge_rule(rule, None, side("elect", tooks, bound=(2.0, 3.0)))
    assert ruling.answer is answer


def test_without_a_bound_or_a_sample_the_answer_is_unknown() -> None:
    rule = Rule.parse("killed/kill.elect outside bound")
    (unbound,) = judge_rule(rule, None, side("elect", [(2.1, 2.2)]))
    assert unbound.answer is Answer.UNKNOWN
    (unplayed,) = judge_rule(rule, side("elect", [(2.1, 2.2)]), side("elect", [(2.1, 2.2)], scenario="other"))
    assert (unplayed.answer, unplayed.why) == (Answer.UNKNOWN, "not a sample")


@pytest.mark.parametrize(
    ("now", "answer"), [(many(1.0), Answer.PASS), (many(1.5), Answer.UNKNOWN), (many(3.0), Answer.FAIL)]
)
def test_a_ratio_is_judged_by_its_interval(now: list[Took], answer: Answer) -> None:
    (ruling,) = judge_rule(Rule.parse("redirect > 1.5x"), side("redirect", many(1.0)), side("redirect", now))
    assert ruling.answer is answer


def test_a_ratio_of_too_few_is_unknown_and_one_to_nothing_is_refused() -> None:
    few = side("redirect", many(1.0, RATIO_COUNT_MIN - 1))
    rule = Rule.parse("redirect > 1.5x")
    assert [ruling.answer for ruling in judge_rule(rule, few, side("redirect", many(9.0)))] == [Answer.UNKNOWN]
    with pytest.raises(UsageError, match="a ratio to what"):
        judge_rule(rule, None, few)


def test_what_was_not_seen_or_not_counted_leaves_no_pass() -> None:
    rule = Rule.parse("elect outside bound")
    seen = side("elect", [(2.1, 2.2)], bound=(2.0, 3.0))
    results = [result_of(1, [step("elect", (2.1, 2.2), bound=(2.0, 3.0))]), result_of(2, [step("elect", None)])]
    unseen = replace(seen, metrics=metrics(results))
    uncounted = replace(seen, unmeasured=(Unmeasured(run="x", why="not judged"),))
    for doubtful in (unseen, uncounted):
        assert [ruling.answer for ruling in judge_rule(rule, None, doubtful)] == [Answer.UNKNOWN]


@pytest.mark.parametrize(
    ("text", "told"),
    [("redirect > 2x", "a ratio to what"), ("killd/kill.elect outside bound", "did you mean 'killed'")],
)
def test_what_cannot_be_told_is_refused_before_anything_is_played(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Rule.parse(text).check(None, ["killed"])


def test_a_rule_means_what_was_played() -> None:
    baseline = side("redirect", many(1.0), scenario="other")
    rulings = judge_rule(Rule.parse("redirect outside bound"), baseline, side("redirect", many(1.0)))
    assert [ruling.metric for ruling in rulings] == ["killed/kill.redirect"]
    with pytest.raises(UsageError, match=r"no such step; there are: killed/kill\.redirect"):
        judge_rule(Rule.parse("pause.redirect outside bound"), None, side("redirect", many(1.0)))
