"""Runs the clients of package archives. In: a command line. Out: output in a file, or CommandFailed with its tail."""

from __future__ import annotations

import hashlib
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from chaoskafka.errors import CommandFailed, EnvironmentFailure

TAIL_CHARACTERS = 3000  # enough for Maven's and apt's last words, little enough for a terminal
TERMINATE_S = 20.0  # mmdebstrap unmounts and deletes its tree when it is told to stop


def run(
    argv: Sequence[str],
    *,
    within_s: float,
    stdout: IO[bytes] | None = None,
    env: Mapping[str, str] | None = None,
    mend: str | None = None,
    reach: str | None = None,
) -> None:
    """Run `argv` to its end. Blocks. Its output goes to `stdout` if given; the rest is kept for the error.

    Interrupted or late, the command is asked to stop, so that it can clear away what it made, before it is killed.
    Raises EnvironmentFailure if the program is missing, CommandFailed if it fails or takes longer than `within_s`.
    `mend` installs the program; `reach` shows or mends its way to the archive that it fetches from.
    """
    with tempfile.TemporaryFile() as words:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=stdout or words,
                stderr=words,
                env=None if env is None else {**env},
            )
        except FileNotFoundError:
            raise EnvironmentFailure(f"{argv[0]} is not installed", mend=mend) from None
        with process:
            try:
                code: int | None = process.wait(within_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _stop(process)
        if code != 0:
            words.seek(0)
            tail = words.read().decode(errors="replace").strip()[-TAIL_CHARACTERS:]
            late = f"(stopped after {within_s:.0f} s)\n" if code is None else ""
            raise CommandFailed(shlex.join(argv), code, late + tail, mend=reach)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(TERMINATE_S)
    except subprocess.TimeoutExpired:
        process.kill()


def sha256_of(path: Path) -> str:
    """Lower-case hex SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
