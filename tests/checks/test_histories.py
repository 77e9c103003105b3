"""Every check against every stored case: the named check's answer, its reason, and nobody else's failure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.history.read import History
from chaoskafka.scenario.catalogue import Kind, find, members
from chaoskafka.timing.failover import failover
from chaoskafka.verdict import EVIDENCE_MAX, Answer, Verdict
from tests.histories.builder import build
from tests.histories.cases import CASES, Case
from tests.histories.copy import Copy
from tests.histories.shape import Shape
from tests.histories.words import PASSED_BY_A_FAILOVER

RECORDED = Path(__file__).parent.parent / "histories" / "base"
BASES = ("recorded",) if RECORDED.exists() else ("built",)
WORDS = tuple(members(Kind.CHECK))


@pytest.fixture(scope="module", params=BASES)
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Nobody alters this one."""
    if request.param == "recorded":
        return Copy.at(RECORDED)
    return Copy.at(build(tmp_path_factory.mktemp("base") / "run", Shape(partitions=2)))


@pytest.fixture(scope="module")
def limits(base: Copy) -> dict[str, dict[str, float]]:
    """Per limit and check: seconds that the base keeps well, just breaks, or that lie inside its worst interval."""
    times = failover(base.history)
    gaps = [gap.length for fault in times for partition in fault.partitions for gap in partition.unavailable]
    sights = [
        (max(s.seen.lo_s for s in partition.seen_by), max(s.seen.hi_s for s in partition.seen_by))
        for fault in times
        for partition in fault.partitions
        if partition.seen_by
    ]
    worst_gap = max((gap.lo_s, gap.hi_s) for gap in gaps)
    worst = {"unavailable": worst_gap, "new_leader": max(sights)}
    return {
        "generous": {check: hi_s + 1.0 for check, (_, hi_s) in worst.items()},
        "inside": {check: (lo_s + hi_s) / 2 for check, (lo_s, hi_s) in worst.items()},
        "below": {check: lo_s - 0.001 for check, (lo_s, _) in worst.items()},
    }


def limit_of(word: str, limits: dict[str, float]) -> dict[str, float]:
    return {
        "unavailable": {"at_most_s": limits["unavailable"]},
        "new_leader": {"within_s": limits["new_leader"]},
    }.get(word, {})


def together(cases: tuple[Case, ...]) -> dict[str, list[Case]]:
    """The cases that alter the base in the same way, so that each altered history is made and judged once."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault("+".join(alter.__name__ for alter in case.alter) or "good", []).append(case)
    return found


ALTERED = together(CASES)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each case makes its altered run out of what the one before left: one by one is twenty files to write."""
    return tmp_path_factory.mktemp("bench") / "run"


@pytest.mark.parametrize("cases", ALTERED.values(), ids=ALTERED)
def test_cases(cases: list[Case], base: Copy, limits: dict[str, dict[str, float]], bench: Path) -> None:
    copy = base.into(bench)
    for alter in cases[0].alter:
        alter(copy)
    history = copy.history
    verdicts = {word: verdict_of(word, history, limit_of(word, limits["generous"])) for word in WORDS}
    failing = {word for word in PASSED_BY_A_FAILOVER if verdicts[word].answer is Answer.FAIL}
    for case in cases:
        special = case.settings or case.limit != "generous"
        settings = {**limit_of(case.check, limits[case.limit]), **case.settings}
        verdict = verdict_of(case.check, history, settings) if special else verdicts[case.check]
        assert_verdict(case, verdict)
        assert failing <= case.also | ({case.check} if case.answer is Answer.FAIL else set()), case.name


def verdict_of(word: str, history: History, settings: Mapping[str, Any]) -> Verdict:
    verdict = find(Kind.CHECK, word)(**settings).check(history)
    assert isinstance(verdict, Verdict)
    return verdict


def assert_verdict(case: Case, verdict: Verdict) -> None:
    assert verdict.answer is case.answer, (case.name, verdict)
    assert case.says in verdict.summary, (case.name, verdict)
    assert len(verdict.evidence) <= EVIDENCE_MAX
    if case.answer is Answer.FAIL:
        assert verdict.found > 0, case.name
        assert verdict.evidence, case.name
    if case.reason is not None:
        assert case.reason in {row["reason"] for row in verdict.evidence}, (case.name, verdict)
        assert case.reason in verdict.summary


def test_every_check_has_cases_of_each_answer() -> None:
    answers = {(case.check, case.answer) for case in CASES}
    for word in WORDS:
        wanted = {Answer.PASS, Answer.UNKNOWN} | ({Answer.FAIL} if word != "took_effect" else set())
        assert {answer for check, answer in answers if check == word} >= wanted, word
    # A fault that was not seen to bite says nothing about Kafka, so this one never fails.
    assert ("took_effect", Answer.FAIL) not in answers
