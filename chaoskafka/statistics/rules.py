"""Rules that a comparison must meet: `STEP > FACTORx` and `STEP outside bound`, for what `--fail-if` takes.

In: a rule as written, two sides. Out: an answer for each metric that it means, with its reason. Pure.

A ratio of medians says something only of steps whose length is not drawn by a timer's phase: a detection lies anywhere
between S - H and S + S/8 (S: broker.session.timeout.ms, H: broker.heartbeat.interval.ms), whatever changed in the code.
Such a step is held against the bound of its own settings instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass

from chaoskafka.errors import UsageError
from chaoskafka.scenario.catalogue import did_you_mean
from chaoskafka.statistics.samples import Metric
from chaoskafka.statistics.side import Side
from chaoskafka.statistics.summary import difference
from chaoskafka.timing.times import STEPS
from chaoskafka.verdict import Answer
from chaoskafka.visible import cut

RATIO_STEPS = ("commit", "propagate", "redirect")  # each counted from the election, so that no lease is in it
RATIO_COUNT_MIN = 20  # samples on each side
FACTOR_MAX = 1000.0
ALLOWED = "STEP > FACTORx, or STEP outside bound; STEP, WORD.STEP or SCENARIO/WORD.STEP, e.g. redirect or kill.redirect"
_RATIO = re.compile(r"(?P<metric>[\w./-]{1,300})\s*>\s*(?P<factor>[0-9]{1,6}(\.[0-9]{1,6})?)x")
_BOUND = re.compile(r"(?P<metric>[\w./-]{1,300})\s+outside\s+bound")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`factor` None: outside of its bound."""

    text: str
    metric: str
    factor: float | None

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Raises UsageError: no such form, step or factor, or a ratio of a step that a timer draws."""
        found = _BOUND.fullmatch(text.strip()) or _RATIO.fullmatch(text.strip())
        if found is None:
            raise UsageError(f"--fail-if {cut(text)!r}: not a rule; allowed: {ALLOWED}")
        metric, factor = found["metric"], found.groupdict().get("factor")
        rule = cls(text=text, metric=metric, factor=float(factor) if factor is not None else None)
        step = metric.rpartition(".")[2]
        if step not in STEPS:
            raise UsageError(f"--fail-if {cut(text)!r}: no such step; there are: {', '.join(STEPS)}")
        if rule.factor is None:
            return rule
        if not 1 <= rule.factor <= FACTOR_MAX:
            raise UsageError(f"--fail-if {text!r}: the factor is not between 1 and {FACTOR_MAX:g}")
        if step not in RATIO_STEPS:
            raise UsageError(
                f"--fail-if {text!r}: a timer's phase decides how long that step takes, so a ratio says nothing of a "
                f"change; write: {rule.metric} outside bound (ratios: {', '.join(RATIO_STEPS)})"
            )
        return rule

    def check(self, baseline: Side | None, scenarios: Collection[str]) -> None:
        """Whether it can be told of runs of these scenarios. Raises UsageError."""
        if self.factor is not None and baseline is None:
            raise UsageError(f"--fail-if {self.text!r}: a ratio to what? Name a baseline")
        scenario = self.metric.rpartition("/")[0]
        known = {*scenarios, *(metric.scenario for metric in baseline.metrics.values())} if baseline else {*scenarios}
        if scenario and scenario not in known:
            raise UsageError(f"--fail-if {self.text!r}: no such scenario{did_you_mean(scenario, known)}")

    def means(self, metric: Metric, played: Container[str]) -> bool:
        """What names no scenario means those that were played, not all that a baseline holds."""
        return self.metric == metric.name or (
            metric.scenario in played and self.metric in (metric.of_fault, metric.step)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a rule says of one metric."""

    rule: str
    metric: str
    answer: Answer
    why: str


def judge_rule(rule: Rule, baseline: Side | None, now: Side) -> list[Ruling]:
    """Raises UsageError when neither side has such a step, or a ratio has no baseline."""
    if not now.metrics:
        return [Ruling(rule=rule.text, metric=rule.metric, answer=Answer.UNKNOWN, why="no failover was timed")]
    sides = [now] if baseline is None else [now, baseline]
    played = {metric.scenario for metric in now.metrics.values()}
    every = {name: metric for side in sides for name, metric in side.metrics.items()}
    meant = [name for name, metric in every.items() if rule.means(metric, played)]
    if not meant:
        known = list(every)
        raise UsageError(
            f"--fail-if {rule.text!r}: these runs have no such step; there are: {', '.join(known) or 'none'}"
        )
    rule.check(baseline, played)
    return [
        Ruling(rule=rule.text, metric=name, answer=answer, why=why) for name, answer, why in _all(rule, meant, sides)
    ]


def _all(rule: Rule, meant: list[str], sides: list[Side]) -> Iterator[tuple[str, Answer, str]]:
    for name in meant:
        now, *before = (side.metrics.get(name) for side in sides)
        if now is None or not now.samples:
            yield name, Answer.UNKNOWN, "not a sample"
            continue
        ratio_to = before[0] if before and rule.factor is not None else None
        answer, why = _bounded(now) if rule.factor is None else _ratio(rule.factor, ratio_to, now)
        unseen = now.unseen + (ratio_to.unseen if ratio_to is not None else 0)
        if answer is Answer.PASS and unseen:  # who was not seen may have been the slowest
            answer, why = Answer.UNKNOWN, f"{why}, and {unseen} faults were not seen to their end"
        uncounted = sum(len(side.unmeasured) for side in (sides if ratio_to is not None else sides[:1]))
        if answer is Answer.PASS and uncounted:
            answer, why = Answer.UNKNOWN, f"{why}, and {uncounted} runs are not counted"
        yield name, answer, why


def _bounded(metric: Metric) -> tuple[Answer, str]:
    stands = [sample.stands for sample in metric.samples]
    count = len(stands)
    if out := [sample for sample in metric.samples if sample.stands is Answer.FAIL]:
        worst = max(out, key=lambda sample: sample.hi_s)
        bound = worst.bound
        assert bound is not None
        where = f"{worst.lo_s:.3f} to {worst.hi_s:.3f} s, bound {bound.lo_s:.3f} to {bound.hi_s:.3f} s"
        return Answer.FAIL, f"{len(out)} of {count} are outside; {worst.subject} of run {worst.run_id}: {where}"
    if Answer.UNKNOWN in stands:
        return (
            Answer.UNKNOWN,
            f"of {stands.count(Answer.UNKNOWN)} of {count} it cannot be told: no bound, or over its edge",
        )
    return Answer.PASS, f"all {count} are inside"


def _ratio(factor: float, before: Metric | None, now: Metric) -> tuple[Answer, str]:
    counts = len(before.samples) if before else 0, len(now.samples)
    if before is None or min(counts) < RATIO_COUNT_MIN:
        return Answer.UNKNOWN, f"{counts[0]} and {counts[1]} samples; a ratio takes {RATIO_COUNT_MIN} of each"
    sure = difference(before.values_s, now.values_s).ratio_sure
    if sure is None:
        return Answer.UNKNOWN, "the baseline's median is 0"
    told = f"{sure[0]:.2f} to {sure[1]:.2f} times the baseline's median, with 95 % confidence"
    if sure[0] > factor:
        return Answer.FAIL, told
    return (Answer.PASS if sure[1] <= factor else Answer.UNKNOWN), told
