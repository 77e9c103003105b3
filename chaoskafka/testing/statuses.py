"""A status of its own for what was not answered: neither passed nor failed. In: pytest's reports. Out: words, XML.

A report is marked where the test ran; the mark travels with it to whoever prints it, from an xdist worker too.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from _pytest.junitxml import xml_key  # no public way leads to an <error> of the call itself

from chaoskafka.errors import ChaosKafkaError, told
from chaoskafka.testing.outcomes import Broken, Inconclusive, is_inconclusive

HIDDEN = (str(Path(__file__).parent.parent), contextlib.__file__)  # whose frames say nothing to the owner of a test


def trimmed(excinfo: pytest.ExceptionInfo[BaseException]) -> pytest.ExceptionInfo[BaseException]:
    """Errors of ours say what there is to say: our own frames and causes would only hide the line of the test."""
    error = excinfo.value
    if not isinstance(error, ChaosKafkaError | Broken):
        return excinfo
    frames: list[TracebackType] = []
    left = error.__traceback__
    while left is not None:
        if not left.tb_frame.f_code.co_filename.startswith(HIDDEN):
            frames.append(left)
        left = left.tb_next
    shown: TracebackType | None = None
    for frame in reversed(frames):
        shown = TracebackType(shown, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    error.__cause__, error.__suppress_context__ = None, True
    return excinfo if shown is None else pytest.ExceptionInfo.from_exception(error.with_traceback(shown))


def no_xfail(report: pytest.TestReport, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """`xfail` expects a finding: where the question was not answered, or not asked, there is none."""
    error = excinfo.value
    if hasattr(report, "wasxfail") and isinstance(error, ChaosKafkaError | pytest.UsageError):
        why = f"it does not cover what is no finding: {report.wasxfail or 'no reason given'}"
        report.sections.append(("xfail", why))
        del report.wasxfail
        report.outcome = "failed"


def mark(report: pytest.TestReport, error: BaseException) -> None:
    """Note on a report what kind of end it was.

    What the harness or the machine kept back while the test asked is inconclusive; before that it is an error.
    """
    if isinstance(error, ChaosKafkaError) and report.when != "call":
        report.longrepr = told(error)
    if isinstance(error, Inconclusive) or (report.when == "call" and is_inconclusive(error)):
        report.chaoskafka_inconclusive = next(iter(str(error).splitlines()), type(error).__name__)  # type: ignore[attr-defined]


def as_error(config: pytest.Config, report: pytest.TestReport) -> None:
    """In JUnit's words it is no failure, but an error, whatever the phase."""
    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    reporter = xml.node_reporter(report)
    message = f"INCONCLUSIVE: {report.chaoskafka_inconclusive}"

    def append(_: object) -> None:
        reporter._add_simple("error", message, report.longreprtext)  # noqa: SLF001 - as its own methods do

    reporter.append_failure = append  # type: ignore[method-assign,assignment]
    reporter.append_error = append  # type: ignore[method-assign,assignment]


def summarize(terminal: Any) -> None:
    """The section of pytest's closing words that failures have too."""
    reports = terminal.stats["inconclusive"]
    terminal.write_sep("=", "INCONCLUSIVE", yellow=True, bold=True)
    for report in reports:
        terminal.write_sep("_", report.head_line or report.nodeid, yellow=True, bold=True)
        terminal.write_line(report.longreprtext)
        for name, content in report.sections:
            terminal.write_sep("-", name)
            terminal.write_line(content.rstrip("\n"))
    for report in reports:
        terminal.write_line(f"INCONCLUSIVE {report.nodeid} - {report.chaoskafka_inconclusive}")
