"""`chaoskafka list`: the words of scenarios, and the scenarios that can be run by name."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from chaoskafka.cluster.conditions import MEANINGS
from chaoskafka.commands.output import WIDTH_PLAIN, say
from chaoskafka.errors import ExitCode, ScenarioError
from chaoskafka.scenario.catalogue import Kind, members
from chaoskafka.scenario.find import scenarios_by_name
from chaoskafka.scenario.load import load_scenario
from chaoskafka.scenario.nodes import NODES
from chaoskafka.scenario.reference import summary_of


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
    console.print("scenarios:")
    console.print(_table([(name, _question(name)) for name in scenarios_by_name()]))
    say("\n".join(line.rstrip() for line in out.getvalue().splitlines()))
    return ExitCode.PASS


def _table(rows: list[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for row in rows:
        table.add_row(*row)
    return table


def _question(name: str) -> str:
    try:
        scenario = load_scenario(scenarios_by_name()[name])
    except ScenarioError as wrong:
        return f"cannot be loaded: {wrong}"
    return scenario.question or scenario.title
