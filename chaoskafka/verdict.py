"""The answer of one check: pass, fail or unknown, with what was counted and the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

Scalar = str | int | float | bool | None
Evidence = Mapping[str, "Scalar | Sequence[Scalar]"]

EVIDENCE_MAX = 20  # rows kept per verdict: enough to see a pattern, small enough to read in a terminal


class Answer(StrEnum):
    """fail beats unknown beats pass."""

    PASS = "pass"  # noqa: S105 - an answer, not a password
    FAIL = "fail"
    UNKNOWN = "unknown"

    @classmethod
    def worst(cls, answers: Iterable[Answer]) -> Answer:
        """The answer of several together; of none at all: unknown."""
        seen = set(answers)
        return next((a for a in (cls.FAIL, cls.UNKNOWN, cls.PASS) if a in seen), cls.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`counted` is how many things the check looked at; `found` how many of them are anomalies (exact, unbounded).

    `evidence` is bounded by EVIDENCE_MAX, the most telling first.
    """

    answer: Answer
    summary: str
    counted: int
    found: int = 0
    evidence: tuple[Evidence, ...] = ()

    def __post_init__(self) -> None:
        if self.answer is Answer.PASS and self.counted == 0:
            # No vacuous green: a check that looked at nothing knows nothing.
            object.__setattr__(self, "answer", Answer.UNKNOWN)
            object.__setattr__(self, "summary", f"nothing to judge: {self.summary}")

    @classmethod
    def passed(cls, summary: str, *, counted: int) -> Verdict:
        return cls(answer=Answer.PASS, summary=summary, counted=counted)

    @classmethod
    def failed(cls, summary: str, *, counted: int, found: int, evidence: Iterable[Evidence] = ()) -> Verdict:
        kept = tuple(evidence)[:EVIDENCE_MAX]
        return cls(answer=Answer.FAIL, summary=summary, counted=counted, found=found, evidence=kept)

    @classmethod
    def unknown(cls, summary: str, *, counted: int = 0, evidence: Iterable[Evidence] = ()) -> Verdict:
        kept = tuple(evidence)[:EVIDENCE_MAX]
        return cls(answer=Answer.UNKNOWN, summary=summary, counted=counted, evidence=kept)
