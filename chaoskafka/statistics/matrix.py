"""A matrix: one scenario over releases, timeouts, clients, or whatever a path of it can be set to, as one table.

    # Which release fails over soonest, and what do faster timeouts buy?
    scenario: leader-killed
    vary:
      cluster.kafka: ["4.0", "4.4"]
      cluster.timeouts: [default, fast]
      workloads[0].produce.client: [harness, librdkafka_default]
    repeat: 3
    show: [kill.elect, kill.redirect]

In: a file. Out: cells, each with what is to be set. Raises ScenarioError, naming what is wrong and what is allowed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from chaoskafka.errors import ScenarioError
from chaoskafka.files import Unreadable, read_regular
from chaoskafka.scenario.bind import BindError, bind, shown
from chaoskafka.scenario.catalogue import Kind, did_you_mean, members
from chaoskafka.scenario.overrides import parse_path
from chaoskafka.scenario.source import SCENARIO_MAX_BYTES, Tree, read_tree
from chaoskafka.statistics.samples import OUTSIDE
from chaoskafka.timing.times import STEPS

CELLS_MAX = 100  # a minute or two each, times `repeat`
REPEAT_MAX = 100
SHOWN = ("detect", "elect", "redirect", "unavailable")  # steps, where a file names none


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """What a matrix file says. `vary`: by path, the values that it takes in turn; `show`: steps, or WORD.STEP."""

    scenario: str
    vary: Mapping[str, tuple[Any, ...]]
    repeat: int = 1
    show: tuple[str, ...] = SHOWN

    def __post_init__(self) -> None:
        if not 1 <= self.repeat <= REPEAT_MAX:
            raise ValueError(f"repeat: {self.repeat} is not between 1 and {REPEAT_MAX}")
        if not self.vary or not all(self.vary.values()):
            raise ValueError("vary: expected at least one path, each with a list of values")
        if (count := prod(map(len, self.vary.values()))) > CELLS_MAX:
            raise ValueError(f"vary: {count} cells; at most {CELLS_MAX}")
        for named in self.show:
            word, dot, step = named.rpartition(".")
            if step not in STEPS:
                raise ValueError(f"show: {shown(named)} is no step{did_you_mean(step, STEPS)}")
            if dot and word not in (words := {*members(Kind.FAULT), OUTSIDE}):
                raise ValueError(f"show: {shown(named)}: {shown(word)} is no fault{did_you_mean(word, words)}")

    def cells(self) -> Iterator[Cell]:
        """Every combination, the last path varying fastest."""
        for values in product(*self.vary.values()):
            yield Cell(values=dict(zip(self.vary, values, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination."""

    values: Mapping[str, Any]

    @property
    def settings(self) -> tuple[str, ...]:
        """As `--set` takes them."""
        return tuple(f"{path}={json.dumps(value)}" for path, value in self.values.items())

    @property
    def label(self) -> tuple[str, ...]:
        """Its values, for a table's row."""
        return tuple(value if isinstance(value, str) else json.dumps(value) for value in self.values.values())


def read_matrix(path: Path) -> Matrix:
    """Raises ScenarioError."""
    try:
        tree = read_tree(read_regular(path, max_bytes=SCENARIO_MAX_BYTES), str(path))
    except Unreadable as why:
        raise ScenarioError(str(path), "", f"cannot be read: {why}") from why
    try:
        matrix = bind(Matrix, tree.value)
    except BindError as wrong:
        raise _told(tree, wrong) from wrong
    for written in matrix.vary:
        parse_path(written, f"{path}: vary")
    return matrix


def _told(tree: Tree, wrong: BindError) -> ScenarioError:
    first, *others = [tree.error(problem.path, problem.text) for problem in wrong.problems]
    for other in others:
        first.add_note(str(other))
    return first
