"""`chaoskafka check DIR…`: judge stored runs again, from their directories alone, anywhere."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from chaoskafka.ahead import compute_ahead
from chaoskafka.commands import CheckRequest
from chaoskafka.commands.output import Judged, complain, explain, gravest, show_result, writable, write_reports
from chaoskafka.ending import EXIT_OF
from chaoskafka.errors import ExitCode, HistoryError
from chaoskafka.history.read import open_history
from chaoskafka.report.as_junit import Unjudged
from chaoskafka.report.result import Result


def main(request: CheckRequest) -> ExitCode:
    """Blocks while tables are read. A directory that is no run is explained, and the others are judged.

    Raises UsageError when a report cannot be written.
    """
    writable(request.junit, request.json)
    codes: list[ExitCode] = []
    done: list[Judged] = []
    refused: list[Unjudged] = []
    for run_dir in request.run_dirs:
        try:
            # The directory itself, in place of a link that may soon lead to another run, or to itself.
            result = _judge(Path(os.path.realpath(run_dir)))
        except HistoryError as foreign:
            explain(foreign)
            codes.append(foreign.exit_code)
            refused.append(Unjudged(name=str(run_dir), problem=str(foreign)))
            continue
        show_result(result, run_dir)
        codes.append(EXIT_OF[result.answer])
        done.append((result, run_dir))
    write_reports(done, refused, junit=request.junit, json_lines=request.json)
    return gravest(codes)


def _judge(run_dir: Path) -> Result:
    history = open_history(run_dir)
    with ThreadPoolExecutor(1) as meanwhile:
        meanwhile.submit(compute_ahead, history)
        from chaoskafka.judge import judged  # noqa: PLC0415 - a fifth of a second, in which tables are read

    result = judged(history)
    try:
        result.save(run_dir)
    except OSError as refused:  # a stored run may be read-only; the answer is on the screen all the same
        complain(f"chaoskafka: {run_dir}: result.json not written: {refused.strerror}")
    return result
