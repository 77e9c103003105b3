"""`chaoskafka report DIR…`: stored runs as a page, a summary, a table or a trace, from their directories alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaoskafka.commands import ReportFormat, ReportRequest
from chaoskafka.commands.output import complain, explain, say, writable, write_text
from chaoskafka.errors import ExitCode, HistoryError
from chaoskafka.report.as_csv import as_csv
from chaoskafka.report.as_html import as_html
from chaoskafka.report.as_markdown import as_markdown
from chaoskafka.report.as_trace import as_trace
from chaoskafka.report.whole import WholeRun, whole_run

PAGE = "report.html"


@dataclass(frozen=True, slots=True)
class _Writer:
    """`file`: what it is called where no other name is given; None: it goes to stdout."""

    write: Callable[[Sequence[WholeRun]], str]
    file: str | None


_WRITERS: Mapping[ReportFormat, _Writer] = {
    ReportFormat.HTML: _Writer(as_html, PAGE),
    ReportFormat.TRACE: _Writer(as_trace, "trace.json"),
    ReportFormat.MARKDOWN: _Writer(as_markdown, None),
    ReportFormat.CSV: _Writer(as_csv, None),
}


def main(request: ReportRequest) -> ExitCode:
    """Blocks while tables are read. A directory that is no run is explained, and the others are reported.

    Raises UsageError when the report cannot be written.
    """
    writable(request.out)
    runs: list[WholeRun] = []
    code = ExitCode.PASS
    for run_dir in request.run_dirs:
        try:
            runs.append(whole_run(Path(os.path.realpath(run_dir))))
        except HistoryError as foreign:
            explain(foreign)
            code = foreign.exit_code
    if not runs:
        return code
    writer = _WRITERS[request.format]
    text = writer.write(runs)
    path = request.out or _default(writer, runs)
    if path is None:
        say(text)
    else:
        write_text(path, text)
        say(str(path))
    return code


def _default(writer: _Writer, runs: Sequence[WholeRun]) -> Path | None:
    """A page of one run lies beside it; one of several, where the command was called."""
    if writer.file is None:
        return None
    return runs[0].run_dir / writer.file if len(runs) == 1 else Path(writer.file)


def write_page(run_dir: Path) -> WholeRun | None:
    """`report.html` at the end of a run, and what it shows, for a summary of all. A page that cannot be written changes
    no answer: it is told, and None is returned."""
    try:
        run = whole_run(run_dir)
        write_text(run_dir / PAGE, as_html([run]))
    except Exception as failed:  # noqa: BLE001 - the run is over and judged; a flaw of its page must not hide that
        complain(f"chaoskafka: {run_dir}: no {PAGE}: {type(failed).__name__}: {failed}")
        return None
    say(f"report         {run_dir / PAGE}")
    return run
