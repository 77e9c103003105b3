"""How a run ends: what went wrong on its way is told, and becomes the exit code.

In: errors, from wherever in the phases they leave. Out: `error` events, notes for people, a traceback file for bugs of
ours, and the gravest exit code.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chaoskafka.errors import (
    GRAVEST_FIRST,
    ChaosKafkaError,
    CommandFailed,
    EnvironmentFailure,
    ExitCode,
    HarnessError,
    HistoryError,
    Interrupted,
    told,
)
from chaoskafka.history.events import EventLog
from chaoskafka.phases import Phase, Phases
from chaoskafka.progress import Progress
from chaoskafka.verdict import Answer

TRACEBACK_FILE = "traceback.txt"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})  # on the disk that holds the run directory
EXIT_OF = {Answer.PASS: ExitCode.PASS, Answer.FAIL: ExitCode.FAIL, Answer.UNKNOWN: ExitCode.UNKNOWN}


class Ending:
    """Collects what speaks for each exit code. `codes` empty: nothing has gone wrong so far."""

    def __init__(self, run_dir: Path, events: EventLog, phases: Phases, progress: Progress) -> None:
        self._run_dir, self._events, self._phases, self._progress = run_dir, events, phases, progress
        self.codes: set[ExitCode] = set()

    @property
    def code(self) -> ExitCode:
        """The gravest. A run that nothing speaks for is a bug, never a pass."""
        return next((code for code in (*GRAVEST_FIRST, ExitCode.PASS) if code in self.codes), ExitCode.INTERNAL)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """What leaves the body is told and counts for the exit code; what comes after the body happens all the same."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - becomes an exit code; a bug leaves its traceback as well
            code = self._code_of(error)
            self.codes.add(code)
            self._tell(error)
            if code is ExitCode.INTERNAL:
                with suppress(OSError), (self._run_dir / TRACEBACK_FILE).open("a", encoding="utf-8") as file:
                    traceback.print_exception(error, file=file)

    @contextmanager
    def tolerant(self, which: Phase) -> Iterator[None]:
        """A phase whose failure leaves something for the judge to miss: the run goes on and is judged all the same."""
        try:
            with self._phases.phase(which):
                yield
        except CommandFailed as failed:  # of a process under test: Kafka that does not start again is a finding
            self._tell(failed)
        except (Interrupted, EnvironmentFailure, HarnessError, HistoryError):
            raise
        except ChaosKafkaError as error:
            self._tell(error)

    def _code_of(self, error: Exception) -> ExitCode:
        if isinstance(error, ChaosKafkaError) and not isinstance(error, HistoryError):
            code = error.exit_code
        elif isinstance(error, OSError) and error.errno in _NO_ROOM:
            code = ExitCode.ENVIRONMENT
        else:
            return ExitCode.INTERNAL  # a history that cannot be read: the harness wrote it itself
        failed = self._phases.failed or Phase.PLAN
        asking = Phase.PLAY in self._phases.begun and failed < Phase.GATHER
        if code is ExitCode.UNKNOWN and not asking:
            return ExitCode.ENVIRONMENT  # there was no question yet, or its answer does not depend on this any more
        if code is ExitCode.ENVIRONMENT and asking:
            return ExitCode.UNKNOWN  # a question was asked, and the machine kept its answer from us
        return code

    def _tell(self, error: Exception) -> None:
        where = self._phases.failed.title if self._phases.failed is not None else "start"
        with suppress(EnvironmentFailure):  # for want of room on the disk: then the screen has it
            self._events.write("error", where=where, type=type(error).__name__, text=told(error))
        self._progress.note(f"{where}: {type(error).__name__}: {told(error)}")
