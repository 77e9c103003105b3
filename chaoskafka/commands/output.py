"""How commands write: results to stdout and files, errors to stderr, the gravest of several exit codes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TextIO

from chaoskafka.errors import GRAVEST_FIRST, ChaosKafkaError, ExitCode, UsageError
from chaoskafka.report.as_junit import Unjudged, as_junit
from chaoskafka.report.as_text import as_text
from chaoskafka.report.result import Result, to_plain
from chaoskafka.visible import visible

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
WIDTH_MIN, WIDTH_MAX, WIDTH_PLAIN = 80, 140, 120  # a table is unreadable below, and a line above

Judged = tuple[Result, Path]


def gravest(codes: Iterable[ExitCode]) -> ExitCode:
    """The exit code of several runs together; PASS of none."""
    seen = set(codes)
    return next((code for code in GRAVEST_FIRST if code in seen), ExitCode.PASS)


def say(text: str) -> None:
    """To stdout: what the command was called for."""
    _write_to(sys.stdout, visible(text, keep="\n"))


def complain(text: str) -> None:
    """To stderr; what came from outside moves no cursor there."""
    _write_to(sys.stderr, visible(text, keep="\n\t"))


def explain(error: BaseException) -> None:
    """One clear message for an error raised on purpose; a traceback for a bug of ours."""
    if isinstance(error, ChaosKafkaError) and error.exit_code is not ExitCode.INTERNAL:
        notes: Sequence[str] = getattr(error, "__notes__", ())
        complain("\n".join([f"chaoskafka: {error}", *(f"chaoskafka: {note}" for note in notes)]))
    else:
        complain("".join(traceback.format_exception(error)))
        complain("chaoskafka: this is a bug of chaoskafka, not of the cluster under test")


def show_result(result: Result, run_dir: Path) -> None:
    """The text report, as wide as the terminal allows."""
    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size((WIDTH_PLAIN, 24)).columns if terminal else WIDTH_PLAIN
    _write_to(sys.stdout, as_text(result, run_dir, width=min(max(columns, WIDTH_MIN), WIDTH_MAX), colour=terminal))


def write_reports(
    judged: Sequence[Judged], unjudged: Sequence[Unjudged] = (), *, junit: Path | None, json_lines: Path | None
) -> None:
    """JUnit for CI systems, and one `result.json` per line for scripts.

    Raises UsageError when a file cannot be written.
    """
    if junit is not None:
        write_text(junit, as_junit(judged, unjudged))
    if json_lines is not None:
        write_text(json_lines, "".join(json.dumps(to_plain(result), allow_nan=False) + "\n" for result, _ in judged))


def writable(*paths: Path | None) -> None:
    """Raises UsageError when a report could not be written: better now than after minutes of running."""
    for path in paths:
        if path is not None:
            # A named pipe that nobody reads is refused, not waited for.
            _refusal_told(path, lambda path: os.close(os.open(path, _APPEND, 0o666)))


def _write_to(stream: TextIO, text: str) -> None:
    """A reader who left (`| head`, a closed terminal) changes no exit code; a full disk is told, if it can be."""
    encoding = stream.encoding or "utf-8"
    try:
        # What a terminal of another encoding cannot show is a question mark to it, and no reason to fail.
        stream.write(text.encode(encoding, "replace").decode(encoding).rstrip("\n") + "\n")
        stream.flush()
    except OSError as failed:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # or Python fails again when it flushes at exit
        if failed.errno not in (errno.EPIPE, errno.EIO):
            complain(f"chaoskafka: {stream.name}: {failed.strerror}")


def write_text(path: Path, text: str) -> None:
    """Raises UsageError when the file cannot be written."""
    _refusal_told(path, lambda path: path.write_text(text, encoding="utf-8"))


def _refusal_told(path: Path, act: Callable[[Path], object]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        act(path)
    except (OSError, ValueError) as refused:
        why = getattr(refused, "strerror", None) or "no file can have such a name"
        raise UsageError(f"{path}: cannot be written: {why}") from refused
