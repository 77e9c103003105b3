"""`chaoskafka list`: the words of scenarios, and the scenarios that can be run by name."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from chaoskafka.cluster.conditions import MEANINGS
from chaoskafka.commands.output import WIDTH_PLAIN, say
from chaoskafka.errors import ExitCode, ScenarioError
from chaoskafka.scenario.catalogue import Kind, members
from chaoskafka.scenario.expected import expected_s
from chaoskafka.scenario.find import scenarios_by_name, suites_by_name
from chaoskafka.scenario.load import load_scenario
from chaoskafka.scenario.nodes import NODES
from chaoskafka.scenario.reference import summary_of
from chaoskafka.scenario.suites import read_suite

Known = tuple[float | None, str]  # expected seconds, None of what cannot be loaded; question


def main() -> ExitCode:
    """Does not block; imports no fault, workload or check but those that scenarios name."""
    out = io.StringIO()
    console = Console(file=out, width=WIDTH_PLAIN, highlight=False, markup=False, emoji=False)
    for kind in Kind:
        console.print(f"{kind.value}:")
        console.print(_table([(word, member.summary) for word, member in members(kind).items()]))
        if kind is Kind.FAULT:
            console.print("faults put together:")
            console.print(_table([(word, summary_of(keys)) for word, keys in NODES.items()]))
            console.print("conditions:")
            console.print(_table([(word.value, meaning) for word, (_, meaning) in MEANINGS.items()]))
    known = {name: _known(path) for name, path in scenarios_by_name().items()}
    suites = {name: _members(path) for name, path in suites_by_name().items()}
    console.print("scenarios:")
    console.print(_timed((name, known[name], _in(name, suites)) for name in known))
    console.print("suites:")
    console.print(_timed((name, _whole(path, known), "") for name, path in suites_by_name().items()))
    say("\n".join(line.rstrip() for line in out.getvalue().splitlines()))
    return ExitCode.PASS


def _table(rows: list[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for row in rows:
        table.add_row(*row)
    return table


def _timed(rows: Iterable[tuple[str, Known, str]]) -> Table:
    """Name, expected time, suites, question."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for name, (expected, question), suites in rows:
        table.add_row(name, f"{expected:.0f} s" if expected is not None else "", suites, question)
    return table


def _in(name: str, suites: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(suite for suite, members in suites.items() if name in members)


def _members(path: Path) -> Sequence[str]:
    try:
        return [member.name for member in read_suite(path, scenarios_by_name()).members]
    except ScenarioError:  # told where the suite itself stands
        return []


def _known(path: Path) -> Known:
    try:
        scenario = load_scenario(path)
    except ScenarioError as wrong:
        return None, f"cannot be loaded: {wrong}"
    return expected_s(scenario), scenario.question or scenario.title


def _whole(path: Path, known: Mapping[str, Known]) -> Known:
    """A suite, played one run after the other."""
    try:
        suite = read_suite(path, scenarios_by_name())
    except ScenarioError as wrong:
        return None, f"cannot be loaded: {wrong}"
    times = [known[member.name][0] if member.name in known else _known(member.path)[0] for member in suite.members]
    return sum(time_s or 0.0 for time_s in times), suite.question
