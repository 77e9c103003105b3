"""Conditions: what a plan waits for instead of so many seconds. Pure, and without any client.

In: what a scenario writes. Out: a `Condition`, checked, for `holding.py`, which finds out whether it holds. Written as
a word, or as a mapping of the word to its value, with `within_s` where the computed deadline will not
do: `fenced`, `{leader_changed: orders/0}`, `{isr_is: 1, of: orders/0, within_s: 60}`, `{recovered, within_s: 20}`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from chaoskafka.cluster.sights import Partition, show

# After a session that the controllers miss: their own failover (3.1 to 5.5 s under load), then a fresh lease for all.
CONTROLLER_S = 6.0
LOOK_S = 5.0  # a round of questions to brokers one of which does not answer
_PARTITION = re.compile(r"([a-zA-Z0-9._-]{1,249})/(\d{1,6})")


class Word(StrEnum):
    """What can be waited for."""

    FENCED = "fenced"
    LEADER_CHANGED = "leader_changed"
    ISR_FULL = "isr_full"
    ISR_IS = "isr_is"
    QUORUM_CAUGHT_UP = "quorum_caught_up"
    RECOVERED = "recovered"


MEANINGS: Mapping[Word, tuple[str, str]] = {
    Word.FENCED: (
        "a broker's number, or nothing",
        "every other broker that answers calls it fenced; without a number: each that was hit, before a step any one",
    ),
    Word.LEADER_CHANGED: (
        "TOPIC/P, or nothing",
        (
            "every broker that answers, but for those hit, names another leader in a later epoch; without a partition:"
            " for each that the hit nodes led"
        ),
    ),
    Word.ISR_FULL: ("a topic, or nothing", "every replica is in sync, as each broker says; without a topic: of all"),
    Word.ISR_IS: (
        "a whole number",
        "so many replicas are in sync, of the partition that `of` names; without it: of at least one under test",
    ),
    Word.QUORUM_CAUGHT_UP: ("nothing", "every controller's log reaches what was committed a round before"),
    Word.RECOVERED: ("nothing", "the cluster is whole: all brokers agree, caught up and in sync"),
}
"""What each word takes, and when it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Something that brokers can be asked."""

    word: Word
    number: int | None = None  # of replicas, or of a broker
    partition: Partition | None = None
    topic: str | None = None
    within_s: float | None = None  # None: computed from the brokers' settings

    def __str__(self) -> str:
        value = self.number if self.number is not None else self.topic
        tail = f" {value}" if value is not None else ""
        return f"{self.word}{tail}" + (f" of {show(self.partition)}" if self.partition else "")

    @property
    def facts(self) -> dict[str, object]:
        """As a scenario writes it."""
        of = show(self.partition) if self.partition else None
        written: dict[str, object] = {self.word.value: self.number if self.number is not None else self.topic or of}
        if self.word is Word.ISR_IS and of:
            written["of"] = of
        return written if self.within_s is None else {**written, "within_s": self.within_s}

    @classmethod
    def parse(cls, written: object) -> Self:
        """Raises ValueError, saying what is allowed; where a key is to blame the text begins with it and a colon."""
        given: Mapping[Any, Any] = {written: None} if isinstance(written, str) else _mapping(written)
        words = [key for key in given if key not in ("of", "within_s")]
        if len(words) != 1:
            raise ValueError(f"expected one condition, got {written!r}; allowed: {', '.join(Word)}")
        if words[0] not in set(Word):
            near = difflib.get_close_matches(str(words[0]), list(Word), n=1)
            guess = f"; did you mean {near[0].value!r}?" if near else ""  # type: ignore[attr-defined]
            raise ValueError(f"{words[0]!r} is no condition{guess}; allowed: {', '.join(Word)}")
        word = Word(words[0])
        if "of" in given and word is not Word.ISR_IS:
            raise ValueError(f"of: {word} takes none; only {Word.ISR_IS} does")
        value = given[words[0]]
        of = given.get("of")
        return cls(
            word=word,
            number=_number(word, value),
            partition=_partition(word.value, value if word is Word.LEADER_CHANGED else None) or _partition("of", of),
            topic=_topic(word, value),
            within_s=_seconds(given.get("within_s")),
        )

    def deadline_s(self, settings: Mapping[str, str], recovered_s: float) -> float:
        """How long to wait for it: what was asked, else what the settings of a broker imply.

        `recovered_s`: how long a cluster may take to be whole.
        """
        if self.within_s is not None:
            return self.within_s
        session_s = float(settings.get("broker.session.timeout.ms", 9000)) / 1000
        fenced_s = CONTROLLER_S + session_s * 9 / 8 + LOOK_S  # the controller looks for lapsed leases every S/8
        match self.word:
            case Word.FENCED | Word.LEADER_CHANGED:
                return fenced_s
            case Word.ISR_IS:  # a replica that lags is taken out after replica.lag.time.max.ms, looked for every half
                lag_s = float(settings.get("replica.lag.time.max.ms", 30_000)) / 1000
                return max(fenced_s, lag_s * 1.5 + LOOK_S)
            case _:
                return recovered_s


def _mapping(written: object) -> Mapping[Any, Any]:
    if not isinstance(written, Mapping):
        raise ValueError(f"expected a condition, got {written!r}; allowed: {', '.join(Word)}")  # noqa: TRY004 - the binder's error
    return written


def _number(word: Word, value: object) -> int | None:
    if word is Word.ISR_IS and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ValueError(f"{word}: expected a whole number from 0 on, got {value!r}")
    if word is Word.FENCED and value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"{word}: expected a broker's number or nothing, got {value!r}")
    if word in (Word.QUORUM_CAUGHT_UP, Word.RECOVERED) and value is not None:
        raise ValueError(f"{word}: it takes no value, got {value!r}")
    return value if word in (Word.ISR_IS, Word.FENCED) and isinstance(value, int) else None


def _partition(key: str, value: object) -> Partition | None:
    if value is None:
        return None
    found = _PARTITION.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise ValueError(f"{key}: expected TOPIC/PARTITION, e.g. orders/0, got {value!r}")
    return found[1], int(found[2])


def _topic(word: Word, value: object) -> str | None:
    if word is not Word.ISR_FULL or value is None:
        return None
    if not isinstance(value, str):
        raise ValueError(f"{word}: expected a topic or nothing, got {value!r}")  # noqa: TRY004 - the binder's error
    return value


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"within_s: expected a number above 0, got {value!r}")
    return float(value)
