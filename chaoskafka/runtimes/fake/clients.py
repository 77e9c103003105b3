"""Client places of a fake cluster: threads of the harness that run the real programs.

In: a command line as a real place is given it (`python -m MODULE DOCUMENT`), and the programs by module. Out: a
ClientProcess. What ends a process ends a thread by an exception, `Ended`, raised where the thread next looks.
"""

from __future__ import annotations

import io
import json
import shutil
import signal
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import ExitStatus
from chaoskafka.errors import UsageError
from chaoskafka.runtimes.fake.kafka import FakeKafka

JOIN_WITHIN_S = 10.0  # every loop looks for its end at least ten times a second
EXIT_CRASH = 70  # an exception of ours (EX_SOFTWARE), as a worker says it


class Ended(BaseException):
    """The end of a process that is a thread. No Exception, so that no worker takes it for a bug of its own."""

    def __init__(self, *, code: int | None = None, signal: int | None = None) -> None:
        self.status = ExitStatus(code=code, signal=signal)
        super().__init__(str(self.status))


class Output(io.StringIO):
    """What a thread writes as if on stdout or stderr. Keeps all of it: a run's status lines are some kilobytes."""

    newest = ""

    def write(self, text: str, /) -> int:
        self.newest = text  # every status line is written in one piece
        return super().write(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """What a program in a client place has around it."""

    kafka: FakeKafka
    directory: Path
    out: Output = field(default_factory=Output)
    err: Output = field(default_factory=Output)
    stop: threading.Event = field(default_factory=threading.Event)  # SIGTERM
    killed: threading.Event = field(default_factory=threading.Event)

    def pause(self, seconds: float) -> bool:
        """Wait so long, or until asked to end; true from then on when asked. Raises Ended after a kill."""
        asked = self.stop.wait(max(0.0, seconds))
        self.look()
        return asked

    def look(self) -> None:
        """Raises Ended after a kill."""
        if self.killed.is_set():
            raise Ended(signal=signal.SIGKILL)


Program = Callable[[Seat, str], int]  # the document in, the exit code out


class FakeProcess:
    """ClientProcess in a thread."""

    def __init__(self, name: str, program: Program, seat: Seat, document: str) -> None:
        self._name, self._program, self._seat, self._document = name, program, seat, document
        self._end: ExitStatus | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        return self._name

    @property
    def address(self) -> str:
        return ""

    def latest(self) -> Mapping[str, Any] | None:
        line = self._seat.out.newest
        return json.loads(line) if line else None

    def exited(self) -> ExitStatus | None:
        return self._end

    def terminate(self) -> None:
        self._seat.stop.set()

    def kill(self) -> None:
        self._seat.killed.set()
        self._seat.stop.set()

    def wait(self, *, within_s: float) -> ExitStatus:
        """Raises WaitTimeout."""
        end = wait_until(
            f"client {self._name} to end", read=self.exited, good=lambda seen: seen is not None, within_s=within_s
        )
        assert end is not None
        return end

    def collect(self, into: Path) -> None:
        """Copy its directory's files, stdout.log and stderr.log to `into`."""
        shutil.copytree(self._seat.directory, into, dirs_exist_ok=True)
        (into / "stdout.log").write_text(self._seat.out.getvalue())
        (into / "stderr.log").write_text(self._seat.err.getvalue())

    def join(self) -> None:
        """Kill it, and wait for the thread."""
        self.kill()
        self._thread.join(JOIN_WITHIN_S)

    def _run(self) -> None:
        try:
            end = ExitStatus(code=self._program(self._seat, self._document), signal=None)
        except Ended as ended:
            end = ended.status
        except Exception:  # noqa: BLE001 - as in a process: its traceback is on stderr, and its exit code tells
            self._seat.err.write(traceback.format_exc())
            end = ExitStatus(code=EXIT_CRASH, signal=None)
        self._end = end


class Clients:
    """The client places of one run. Several may be launched at once."""

    def __init__(self, kafka: FakeKafka, programs: Mapping[str, Program]) -> None:
        self._kafka, self._programs = kafka, programs
        self._launched: list[FakeProcess] = []
        self._scratch = Path(tempfile.mkdtemp(prefix="chaoskafka-fake-"))

    def launch(self, name: str, argv: Sequence[str]) -> FakeProcess:
        """Raises UsageError for a command that is none of the programs: other commands need a real place."""
        match list(argv):
            case ["python", "-m", module, document] if module in self._programs:
                directory = self._scratch / name
                directory.mkdir()
                seat = Seat(kafka=self._kafka, directory=directory)
                process = FakeProcess(name, self._programs[module], seat, document)
                self._launched.append(process)
                return process
            case _:
                known = ", ".join(f"python -m {module} DOCUMENT" for module in self._programs)
                raise UsageError(f"{name}: runtime fake cannot run {list(argv[:3])}; it runs {known}")

    def remove_all(self) -> None:
        """End every thread, and remove their directories."""
        for process in self._launched:
            process.join()
        with suppress(OSError):
            shutil.rmtree(self._scratch)
