"""Suites: files that list scenarios. In: a file. Out: what it asks, and the scenarios' files, in its order.

    # Does the least that must work still work?
    scenarios:
      - leader-killed-fast     # a name, as `chaoskafka list` shows it
      - mine/paused.yaml       # a path, from where the suite's file is

Suites stand in `scenarios/suites/`, here and among those shipped, and are run by their name: `smoke`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chaoskafka.errors import ScenarioError
from chaoskafka.files import Unreadable, read_regular
from chaoskafka.scenario.bind import shown
from chaoskafka.scenario.catalogue import did_you_mean
from chaoskafka.scenario.source import SCENARIO_MAX_BYTES, Tree, read_tree

KEY = "scenarios"
MEMBERS_MAX = 500  # twenty times the largest of ours; more would run for a day
FOLDER = "suites"  # of `scenarios/`: nothing in it is a scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One scenario of a suite: how the suite calls it, and its file."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """What a suite's file says. `question`: its first comment, "" when it has none."""

    name: str
    question: str
    members: tuple[Member, ...]


def is_suite(path: Path) -> bool:
    """Whether a file is a suite and no scenario: it has the key `scenarios`. What cannot be read is none."""
    try:
        top = read_tree(read_regular(path, max_bytes=SCENARIO_MAX_BYTES), str(path)).value
    except (Unreadable, ScenarioError):
        return False
    return isinstance(top, Mapping) and KEY in top


def read_suite(path: Path, named: Mapping[str, Path]) -> Suite:
    """`named`: the scenarios that can be called by name.

    Raises ScenarioError for the first thing that is wrong, with the others as its notes: no list, a scenario that is
    not there, one that stands in it twice.
    """
    try:
        tree = read_tree(read_regular(path, max_bytes=SCENARIO_MAX_BYTES), str(path))
    except Unreadable as why:
        raise ScenarioError(str(path), "", f"cannot be read: {why}") from why
    problems: list[ScenarioError] = []
    members = _members(tree, path, named, problems)
    if problems:
        first, *others = problems
        for other in others:
            first.add_note(str(other))
        raise first
    return Suite(name=path.stem, question=tree.question, members=members)


def _members(tree: Tree, path: Path, named: Mapping[str, Path], problems: list[ScenarioError]) -> tuple[Member, ...]:
    top = tree.value
    listed = top.get(KEY) if isinstance(top, Mapping) else None
    problems += [tree.error((key,), f"a suite has one key, {KEY}") for key in top or () if key != KEY]
    if not isinstance(listed, list) or not 0 < len(listed) <= MEMBERS_MAX:
        got = f"{len(listed)} items" if isinstance(listed, list) else shown(listed)
        problems.append(tree.error((KEY,), f"expected a list of 1 to {MEMBERS_MAX} scenarios, got {got}"))
        return ()
    found: list[Member] = []
    for i, item in enumerate(listed):
        at = _file_of(item, path.parent, named) if isinstance(item, str) else None
        if at is None:
            hint = did_you_mean(item, named) if isinstance(item, str) else ""
            told = f"no scenario is called {shown(item)}, and no such file is in {path.parent}{hint}"
            problems.append(tree.error((KEY, i), told))
        elif any(os.path.realpath(member.path) == os.path.realpath(at) for member in found):
            problems.append(tree.error((KEY, i), f"{item} stands in it twice"))
        else:
            found.append(Member(name=item, path=at))
    return tuple(found)


def _file_of(item: str, beside: Path, named: Mapping[str, Path]) -> Path | None:
    """A name wins: a suite that is shipped means what is shipped with it, or one's own of the same name."""
    if item in named:
        return named[item]
    path = beside / item
    return path if path.is_file() else None
