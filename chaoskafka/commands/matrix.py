"""`chaoskafka matrix FILE`: one scenario in every combination of a matrix, then one table of medians."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from chaoskafka.clock import utc_now
from chaoskafka.commands import RunRequest
from chaoskafka.commands.asked import asked_of
from chaoskafka.commands.choice import chosen
from chaoskafka.commands.output import gravest, say, write_text
from chaoskafka.commands.run import main as run
from chaoskafka.errors import ExitCode, HistoryError
from chaoskafka.phases import interrupted_by_signals
from chaoskafka.report.as_markdown import escaped
from chaoskafka.scenario.find import find_scenario
from chaoskafka.statistics.matrix import Cell, Matrix, read_matrix
from chaoskafka.statistics.side import Side, load_side
from chaoskafka.statistics.summary import median_s

TABLE_FILE = "matrix.md"
WIDTH_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    """`side` None: nothing of it was judged."""

    cell: Cell
    code: ExitCode
    side: Side | None


def main(path: Path, request: RunRequest) -> ExitCode:
    """Blocks for minutes for each cell. Raises UsageError before anything was started.

    `request`: how to run; scenario, settings and repetitions are the matrix's.
    """
    matrix = read_matrix(path)
    request = replace(request, runtime=chosen(request.runtime))
    # Of this call alone: the runs of another one may have been made with other values.
    out = request.out / f"matrix-{path.stem}" / utc_now().strftime("%Y%m%dT%H%M%S")
    cells = [
        (cell, _request(matrix, cell, path, request, out / f"{number:02}"))
        for number, cell in enumerate(matrix.cells(), start=1)
    ]
    for _, each in cells:
        asked_of(each)  # a value that does not fit is told before the first has run for minutes
    played: list[_Played] = []
    with suppress(KeyboardInterrupt), interrupted_by_signals():  # between two cells: what was played is shown
        for number, (cell, each) in enumerate(cells, start=1):
            say(f"\ncell {number} of {len(cells)}: {', '.join(cell.settings)}")
            code = run(each)
            played.append(_Played(cell=cell, code=code, side=_side(each.out)))
            if code is ExitCode.INTERRUPTED:
                break
    head, rows = table(matrix, played)
    say("\n" + _text(head, rows))
    write_text(out / TABLE_FILE, _markdown(head, rows))
    missing = [ExitCode.INTERRUPTED] * (len(played) < len(cells))
    return gravest([*missing, *(one.code for one in played)])


def _request(matrix: Matrix, cell: Cell, path: Path, request: RunRequest, out: Path) -> RunRequest:
    scenario = matrix.scenario
    beside = path.parent / scenario
    return replace(
        request,
        scenarios=(str(beside) if beside.is_file() else str(find_scenario(scenario)),),
        settings=(*request.settings, *cell.settings),
        repeat=matrix.repeat,
        out=out,
    )


def _side(out: Path) -> Side | None:
    try:
        return load_side([out])
    except HistoryError:
        return None


def table(matrix: Matrix, played: Sequence[_Played]) -> tuple[list[str], list[list[str]]]:
    """The median of each shown step, and how many samples it is of; a cell without any says how it ended."""
    head = [*matrix.vary, "ended", *matrix.show]
    rows = []
    for one in played:
        metrics = one.side.metrics if one.side is not None else {}
        values: Mapping[str, list[float]] = {
            step: [value for m in metrics.values() if step in (m.step, m.of_fault) for value in m.values_s]
            for step in matrix.show
        }
        figures = [f"{median_s(found):.3f} (n {len(found)})" if found else "-" for found in values.values()]
        rows.append([*one.cell.label, one.code.name.lower(), *figures])
    return head, rows


def _text(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    shown = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title in head:
        shown.add_column(title)
    for row in rows:
        shown.add_row(*row)
    out = io.StringIO()
    Console(file=out, width=WIDTH_MAX, no_color=True, highlight=False, markup=False, emoji=False).print(shown)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(escaped, line)) + " |" for line in lines) + "\n"
