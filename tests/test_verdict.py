"""Verdicts: fail beats unknown beats pass, and nothing counted is never a pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.verdict import EVIDENCE_MAX, Answer, Verdict


@given(st.lists(st.sampled_from(Answer)))
def test_the_worst_answer_wins_and_of_none_it_is_unknown(answers: list[Answer]) -> None:
    worst = Answer.worst(answers)
    if Answer.FAIL in answers:
        assert worst is Answer.FAIL
    elif Answer.UNKNOWN in answers or not answers:
        assert worst is Answer.UNKNOWN
    else:
        assert worst is Answer.PASS


def test_a_pass_that_counted_nothing_is_unknown() -> None:
    verdict = Verdict.passed("all is well", counted=0)
    assert verdict.answer is Answer.UNKNOWN
    assert "nothing to judge" in verdict.summary


def test_evidence_is_bounded_and_counts_are_not() -> None:
    verdict = Verdict.failed("many", counted=1000, found=500, evidence=({"n": n} for n in range(500)))
    assert len(verdict.evidence) == EVIDENCE_MAX
    assert verdict.found == 500
