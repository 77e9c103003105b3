"""Targets: who a fault hits, written as text in a scenario and looked up when the fault is injected.

In: the text. Out: its phrases, checked, for `resolution.py`, which finds out who they are now. Pure, and without any
client, since scenarios and faults import it.

    WHO[, FILTER]…
    WHO     leader of TOPIC/P · follower of TOPIC/P · last in-sync replica of TOPIC/P · active controller
            group coordinator of GROUP · transaction coordinator of TRANSACTIONAL.ID · broker N · node N
            any · majority · all    (of the brokers: one at random, more than half of them, every one)
    FILTER  [not] each of these but any, majority and all
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Self, assert_never

from chaoskafka.cluster import sights
from chaoskafka.cluster.sights import Partition

GRAMMAR = (
    "leader of TOPIC/P, follower of TOPIC/P, last in-sync replica of TOPIC/P, active controller,"
    " group coordinator of GROUP, transaction coordinator of TRANSACTIONAL.ID, broker N, node N, any, majority, all;"
    " and filters after commas, such as 'not active controller'"
)


class Kind(StrEnum):
    """The words a target can be made of."""

    LEADER = "leader of"
    FOLLOWER = "follower of"
    LAST_IN_SYNC = "last in-sync replica of"
    CONTROLLER = "active controller"
    COORDINATOR = "group coordinator of"
    TRANSACTIONS = "transaction coordinator of"
    BROKER = "broker"
    NODE = "node"
    ANY = "any"
    MAJORITY = "majority"
    ALL = "all"


_CHOICES = (Kind.ANY, Kind.MAJORITY, Kind.ALL)  # these choose among all brokers, so they cannot filter
_PARTITION = re.compile(r"([a-zA-Z0-9._-]{1,249})/(\d{1,6})")  # Kafka's own rule for topic names
_NUMBER = re.compile(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class Phrase:
    """One part of a target, e.g. `not leader of orders/0`."""

    kind: Kind
    partition: Partition | None = None
    group: str | None = None
    transaction: str | None = None  # a transactional.id
    number: int | None = None
    negated: bool = False

    @property
    def plain(self) -> str:
        """Without its `not`."""
        return str(self).removeprefix("not ")

    def __str__(self) -> str:
        tail = next((each for each in (self.group, self.transaction, self.number) if each is not None), None)
        if self.partition is not None:
            tail = sights.show(self.partition)
        words = ["not"] * self.negated + [self.kind.value] + ([str(tail)] if tail is not None else [])
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Target:
    """A target as written, e.g. `leader of orders/0, not active controller`.

    Raises ValueError, saying what is allowed, when the text is no target.
    """

    text: str

    def __post_init__(self) -> None:
        _phrases(self.text)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError, saying what is allowed, when `text` is no target."""
        return cls(" ".join(text.split()))

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """Who, then the filters."""
        return _phrases(self.text)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitions it mentions, so that a scenario can be checked before anything starts."""
        return tuple(phrase.partition for phrase in self.phrases if phrase.partition is not None)

    @property
    def groups(self) -> tuple[str, ...]:
        """The consumer groups whose coordinator it mentions."""
        return tuple(phrase.group for phrase in self.phrases if phrase.group is not None)

    @property
    def transactions(self) -> tuple[str, ...]:
        """The transactional ids whose coordinator it mentions."""
        return tuple(phrase.transaction for phrase in self.phrases if phrase.transaction is not None)

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The nodes it mentions by number."""
        return tuple(phrase.number for phrase in self.phrases if phrase.number is not None)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=256)
def _phrases(text: str) -> tuple[Phrase, ...]:
    who, *filters = (_phrase(part) for part in text.split(","))
    if who.negated:
        raise ValueError(f"{text!r} begins with 'not': say first who, e.g. 'any, {who}'")
    for wrong in (phrase for phrase in filters if phrase.kind in _CHOICES):
        raise ValueError(f"{str(wrong)!r} cannot be a filter; a target is one of {GRAMMAR}")
    return (who, *filters)


def _phrase(part: str) -> Phrase:
    words = part.split()
    negated = words[:1] == ["not"]
    rest = " ".join(words[negated:])
    kind = next((kind for kind in Kind if rest == kind or rest.startswith(f"{kind} ")), None)
    if kind is None:
        raise ValueError(_unknown(part.strip(), rest))
    tail = rest.removeprefix(kind).strip()
    match kind:
        case Kind.LEADER | Kind.FOLLOWER | Kind.LAST_IN_SYNC:
            found = _PARTITION.fullmatch(tail)
            if not found:
                raise ValueError(f"{part.strip()!r}: expected '{kind} TOPIC/PARTITION', e.g. '{kind} orders/0'")
            return Phrase(kind, partition=(found[1], int(found[2])), negated=negated)
        case Kind.BROKER | Kind.NODE:
            if not _NUMBER.fullmatch(tail):
                raise ValueError(f"{part.strip()!r}: expected '{kind} N', e.g. '{kind} 2'")
            return Phrase(kind, number=int(tail), negated=negated)
        case Kind.COORDINATOR | Kind.TRANSACTIONS:
            of_group = kind is Kind.COORDINATOR
            if not tail:
                what, such = ("GROUP", "readers") if of_group else ("TRANSACTIONAL.ID", "tx-1")
                raise ValueError(f"{part.strip()!r}: expected '{kind} {what}', e.g. '{kind} {such}'")
            return Phrase(
                kind, group=tail if of_group else None, transaction=None if of_group else tail, negated=negated
            )
        case Kind.CONTROLLER | Kind.ANY | Kind.MAJORITY | Kind.ALL:
            if tail:
                raise ValueError(f"{part.strip()!r}: nothing may follow {kind.value!r} but a comma and a filter")
            return Phrase(kind, negated=negated)
        case never:
            assert_never(never)


def _unknown(part: str, rest: str) -> str:
    # Compare word by word at the front, since what follows ('orders/0') is the user's own.
    heads = [rest, " ".join(rest.split()[:-1])]
    near = next((close[0] for head in heads if (close := difflib.get_close_matches(head, list(Kind), n=1))), None)
    hint = f"; did you mean {str(near)!r}?" if near else ""
    return f"{part!r} is no target{hint or '.'} A target is one of {GRAMMAR}"
