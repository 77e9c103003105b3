"""Client places: network namespaces where workers, the observer and a user's commands run, on this machine's Python.

Where there are no namespaces, they run on the loopback as the nodes do, and have no address of their own.

In go a command and its environment; out comes a ClientProcess. What it writes goes to files in a directory of the run's
own, from which its status is read: no thread follows it.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import chaoskafka
from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import ExitStatus
from chaoskafka.errors import EnvironmentFailure, WaitTimeout
from chaoskafka.runtimes.process import network
from chaoskafka.runtimes.process.control import Supervised, surroundings
from chaoskafka.runtimes.process.layout import CLIENTS_MAX, Layout
from chaoskafka.runtimes.status import LINE_MAX_BYTES, newest

OUT, ERR = "stdout.log", "stderr.log"


class Clients:
    """The client places of one run. Several may be launched at once; what they started ends with the supervisor."""

    def __init__(self, inside: Supervised, layout: Layout) -> None:
        self._inside, self._layout, self._numbers = inside, layout, count()

    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str], package: Path | None = None
    ) -> ProcessClient:
        """Blocks until the process was started. Raises EnvironmentFailure."""
        number = next(self._numbers)
        if number >= CLIENTS_MAX:
            raise EnvironmentFailure(f"{name}: a run has addresses for {CLIENTS_MAX} client places")
        at, address = self._layout.at(f"client-{name}"), ""
        directory = self._layout.client(name)
        work = directory / "work"
        work.mkdir(parents=True)
        if at is not None:
            address = self._layout.client_address(number)
            self._inside.shell(network.script([network.place(at, address)]), f"making a place for {name}")
        self._inside.ask(
            "start",
            name=f"client {name}",
            argv=[sys.executable, *argv[1:]] if argv[0] == "python" else list(argv),
            env={**_surroundings(work, package), **env},
            cwd=str(work),
            at=at and str(at),
            stdout=str(directory / OUT),
            stderr=str(directory / ERR),
        )
        return ProcessClient(self._inside, name, address=address, directory=directory)


def _surroundings(work: Path, package: Path | None) -> dict[str, str]:
    """The harness's own environment, so that its Python finds what the harness found; chaoskafka is surely ours."""
    theirs = [str(package.parent)] if package is not None else []
    path = [str(Path(chaoskafka.__file__).parents[1]), *theirs, *filter(None, [os.environ.get("PYTHONPATH")])]
    ours = {"CHAOSKAFKA_DIR": str(work), "PYTHONUNBUFFERED": "1", "PYTHONPATH": os.pathsep.join(path)}
    return {**surroundings(), **ours}


class ProcessClient:
    """ClientProcess in a network namespace, or beside the supervisor."""

    def __init__(self, inside: Supervised, name: str, *, address: str, directory: Path) -> None:
        self._inside, self._name, self._address, self._directory = inside, name, address, directory
        self._latest: Mapping[str, Any] | None = None
        self._read_bytes, self._rest = 0, b""
        self._end: ExitStatus | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def address(self) -> str:
        return self._address

    def latest(self) -> Mapping[str, Any] | None:
        """The newest status line; None before the first. Reads what was written since the last call."""
        try:
            with (self._directory / OUT).open("rb") as file:
                file.seek(self._read_bytes)
                piece = file.read()
        except OSError as unreadable:
            raise EnvironmentFailure(f"following the output of {self._name}: {unreadable}") from unreadable
        self._read_bytes += len(piece)
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest if len(rest) <= LINE_MAX_BYTES else b""
        self._latest = newest(lines) or self._latest
        return self._latest

    def exited(self) -> ExitStatus | None:
        """None while it runs. Blocks for one question to the supervisor. Raises EnvironmentFailure."""
        if self._end is None:
            code = self._inside.ask("state", name=self._known_as)["code"]
            if code is not None:
                self._end = ExitStatus(code=code if code >= 0 else None, signal=-code if code < 0 else None)
        return self._end

    def terminate(self) -> None:
        """SIGTERM. Harmless when it has ended."""
        self._inside.ask("signal", name=self._known_as, signal=int(signal.SIGTERM))

    def kill(self) -> None:
        """SIGKILL. Harmless when it has ended."""
        self._inside.ask("signal", name=self._known_as, signal=int(signal.SIGKILL))

    def wait(self, *, within_s: float) -> ExitStatus:
        """Blocks. Raises WaitTimeout, with the last status line, and EnvironmentFailure."""
        try:
            end = wait_until(
                f"client {self._name} to end", read=self.exited, good=lambda seen: seen is not None, within_s=within_s
            )
        except WaitTimeout as late:
            late.add_note(f"its last status: {self._latest}")
            raise
        assert end is not None
        return end

    def collect(self, into: Path) -> None:
        """Copy its directory's files, stdout.log and stderr.log to `into`. Raises EnvironmentFailure."""
        try:
            shutil.copytree(self._directory / "work", into, dirs_exist_ok=True)
            for name in (OUT, ERR):
                shutil.copyfile(self._directory / name, into / name)
        except (OSError, shutil.Error) as failed:
            raise EnvironmentFailure(f"collecting the files of {self._name}: {failed}") from failed

    @property
    def _known_as(self) -> str:
        return f"client {self._name}"
