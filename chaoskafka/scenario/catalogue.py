"""The words of scenarios: which faults, workloads and checks there are, found by the names of their modules.

In: a kind and a word. Out: the class of that word. Listing reads sources only, so that it imports no member and none of
the clients and engines that a member may need; `find` imports exactly the member that a scenario names.
Other people's members come as entry points of the groups `chaoskafka.faults`, `chaoskafka.workloads`,
`chaoskafka.checks`: the entry's name is the word, its object the class.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from chaoskafka.visible import cut

ALLOWED_MAX = 30  # words that a message lists: all that there are of one kind
GUESSES_MAX = 300  # names that are compared: each costs some 20 us, and a file may have a thousand slips


class Kind(StrEnum):
    """What a word can name; the value is the package of its members."""

    FAULT = "faults"
    WORKLOAD = "workloads"
    CHECK = "checks"

    @property
    def singular(self) -> str:
        return self.value.removesuffix("s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One word of the catalogue. `summary` is the first sentence of its class's docstring; "" for entry points."""

    kind: Kind
    word: str
    module: str
    class_name: str
    summary: str


class UnknownWord(LookupError):
    """No member has that word; says which there are."""

    def __init__(self, kind: Kind, word: str, known: Iterable[str]) -> None:
        self.kind, self.word, self.known = kind, word, tuple(sorted(known))
        super().__init__(f"no {kind.singular} is called {cut(word)!r}{did_you_mean(word, self.known)}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error sentence: the nearest known word, if one is near, and all that are allowed."""
    allowed = sorted(known)
    near = difflib.get_close_matches(word, allowed[:GUESSES_MAX], n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ""
    more = [f"and {len(allowed) - ALLOWED_MAX} more"] if len(allowed) > ALLOWED_MAX else []
    return f"{guess}; allowed: {', '.join([*allowed[:ALLOWED_MAX], *more]) or 'none'}"


@cache
def members(kind: Kind) -> Mapping[str, Member]:
    """Every word of a kind, sorted. Reads source files, imports no member. Our own members win over entry points."""
    found = {entry.name: _foreign(kind, entry.name, entry.value) for entry in entry_points(group=f"chaoskafka.{kind}")}
    spec = find_spec(f"chaoskafka.{kind}")
    for folder in spec.submodule_search_locations or () if spec else ():
        found |= {member.word: member for path in Path(folder).glob("[a-z]*.py") if (member := _own(kind, path))}
    return dict(sorted(found.items()))


def find(kind: Kind, word: str) -> type:
    """The class of a word; imports its module.

    Raises UnknownWord, and TypeError when an entry point is no frozen dataclass.
    """
    own = f"chaoskafka.{kind}.{word}"
    if word.isidentifier() and find_spec(own):  # then no other source has to be read
        found = getattr(import_module(own), class_name_of(word), None)
        if isinstance(found, type) and is_dataclass(found):
            return found
    known = members(kind)
    if word not in known:
        raise UnknownWord(kind, word, known)
    member = known[word]
    found = getattr(import_module(member.module), member.class_name)
    if not isinstance(found, type) or not is_dataclass(found):
        raise TypeError(f"{member.module}:{member.class_name} is no dataclass, so it cannot be a {kind.singular}")
    return found


def word_of(value: object) -> str:
    """The word that a member's value was written with: its class's name in snake_case."""
    name = type(value).__name__
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def class_name_of(word: str) -> str:
    """`no_lost_acknowledged` -> `NoLostAcknowledged`."""
    return "".join(part.capitalize() for part in word.split("_"))


def _own(kind: Kind, path: Path) -> Member | None:
    """A module is a member when it defines the class of its own name; others in the package are helpers."""
    class_name = class_name_of(path.stem)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            summary = re.split(r"(?<=\.)\s|\n\n", ast.get_docstring(node) or "")[0].replace("\n", " ")
            module = f"chaoskafka.{kind}.{path.stem}"
            return Member(kind=kind, word=path.stem, module=module, class_name=class_name, summary=summary)
    return None


def _foreign(kind: Kind, word: str, target: str) -> Member:
    module, _, class_name = target.partition(":")
    return Member(kind=kind, word=word, module=module, class_name=class_name, summary="")
