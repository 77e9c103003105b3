"""A process on the harness's own machine, as a client place: for code that only this machine has.

In: a command, its environment, a directory for what it writes. Out: a `ClientProcess`. It reaches brokers by published
ports, where the engine may accept connections for a broker that is dead; the run directory says where it stood.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import ExitStatus
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes.status import newest

TAIL_BYTES = 64 * 1024  # of its output that is looked through for the newest status line


class HostProcess:
    """ClientProcess on this machine; it leads a process group, so that what it starts ends with it."""

    def __init__(self, name: str, argv: Sequence[str], env: Mapping[str, str], directory: Path) -> None:
        self._name, self._directory = name, directory
        directory.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, *argv[1:]] if argv[0] == "python" else list(argv)
        ours = {"CHAOSKAFKA_DIR": str(directory), "PYTHONUNBUFFERED": "1"}
        self._out = directory / "stdout.log"
        self._from = self._out.stat().st_size if self._out.exists() else 0  # what one before it said does not count
        self._swept = False  # what it started was killed after its end
        with self._out.open("ab") as out, (directory / "stderr.log").open("ab") as err:
            try:
                self._process = subprocess.Popen(
                    command, env={**os.environ, **ours, **env}, stdout=out, stderr=err, start_new_session=True
                )
            except OSError as refused:
                raise EnvironmentFailure(f"application {name}: {command[0]}: {refused.strerror}") from refused

    @property
    def name(self) -> str:
        return self._name

    @property
    def address(self) -> str:
        return ""

    def latest(self) -> Mapping[str, Any] | None:
        """The newest line of its output that is a JSON object; None before the first."""
        with self._out.open("rb") as file:
            file.seek(max(self._from, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            return newest(file.read().split(b"\n")[:-1])

    def exited(self) -> ExitStatus | None:
        """How it ended, with all that it started; None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        if not self._swept:  # once: later the number may be another's
            self._swept = True
            self._signal(signal.SIGKILL)
        return ExitStatus(code=code if code >= 0 else None, signal=-code if code < 0 else None)

    def terminate(self) -> None:
        """SIGTERM, to all that it started too. Harmless when it has ended."""
        if self.exited() is None:
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, to all that it started too. Harmless when it has ended."""
        if self.exited() is None:
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        # The group may be gone already, or hold only what took another user's rights.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def wait(self, *, within_s: float) -> ExitStatus:
        """Raises WaitTimeout."""
        end = wait_until(
            f"application {self._name} to end", read=self.exited, good=lambda seen: seen is not None, within_s=within_s
        )
        assert end is not None
        return end

    def collect(self, into: Path) -> None:
        """Copy its directory's files to `into`."""
        if into != self._directory:
            shutil.copytree(self._directory, into, dirs_exist_ok=True)
