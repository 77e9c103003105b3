"""Every error that chaoskafka raises on purpose, with the exit code that a command ends with.

ChaosKafkaError                     base; never raised itself
  UsageError              exit 2    the call is wrong; nothing was started
    ScenarioError         exit 2    a scenario file is wrong: file, YAML path, line, value, what is allowed
    HistoryError          exit 2    a run directory is missing, foreign or damaged
  EnvironmentFailure      exit 3    the machine lacks something; says what and the command that mends it
    CommandFailed         exit 3    a subprocess or container failed; carries command, exit code, output tail
  WaitTimeout             exit 4    a condition did not come true in time; says what was last seen
  RunTimeout              exit 4    the whole run took longer than it may; cuts short whatever is being waited for
  NoAnswer                exit 4    a broker did not answer a question in time, or cut the connection
    AccessRefused         exit 4    a broker did not let us in, or its certificate is not the one to trust
  NoTarget                exit 4    a fault's target fits nobody right now
  FaultFailed             exit 4    a fault was not seen to bite, or not seen to heal
  ClientEnded             exit 4    a worker or the observer ended although nobody had asked it to
  HarnessError            exit 5    a bug or broken promise of our own
  Interrupted             exit 130  the user pressed Ctrl-C, or SIGTERM or SIGHUP arrived

Anything else that escapes is a bug of the harness and exits with 5. What exits with 4 does so once a plan is played;
before that there is no question yet, and a run exits with 3. What exits with 3 leaves a run unknown (4) while its plan
is played and until all is audited: a question was asked, and the machine kept its answer back.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What a command's exit code says. Several runs in one call: the first that applies of `GRAVEST_FIRST`."""

    PASS = 0
    FAIL = 1
    USAGE = 2
    ENVIRONMENT = 3
    UNKNOWN = 4
    INTERNAL = 5
    INTERRUPTED = 130


GRAVEST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.INTERNAL,
    ExitCode.FAIL,
    ExitCode.UNKNOWN,
    ExitCode.ENVIRONMENT,
    ExitCode.USAGE,
)


class ChaosKafkaError(Exception):
    """Base of all errors raised on purpose."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL


class UsageError(ChaosKafkaError):
    """The call cannot be taken as written; nothing was started."""

    exit_code = ExitCode.USAGE


class ScenarioError(UsageError):
    """A scenario file is wrong. `path` is the YAML path (`workloads[0].produce.topic`), `line` counts from 1."""

    def __init__(self, file: str, path: str, problem: str, *, line: int | None = None) -> None:
        self.file, self.path, self.problem, self.line = file, path, problem, line
        where = f"{file}:{line}" if line is not None else file
        super().__init__(f"{where}: {path}: {problem}" if path else f"{where}: {problem}")


class HistoryError(UsageError):
    """A run directory is missing, foreign or damaged."""


class EnvironmentFailure(ChaosKafkaError):
    """The machine lacks something. `mend` is the command that mends it, as the user would type it."""

    exit_code = ExitCode.ENVIRONMENT

    def __init__(self, problem: str, *, mend: str | None = None) -> None:
        self.problem, self.mend = problem, mend
        super().__init__(f"{problem}\n  to mend it: {mend}" if mend else problem)


class CommandFailed(EnvironmentFailure):
    """A subprocess or container failed."""

    def __init__(self, command: str, exit_code: int | None, output_tail: str, *, mend: str | None = None) -> None:
        self.command, self.returncode, self.output_tail = command, exit_code, output_tail
        super().__init__(f"command failed with exit code {exit_code}: {command}\n{output_tail}".rstrip(), mend=mend)


class WaitTimeout(ChaosKafkaError):
    """A condition did not come true in time."""

    exit_code = ExitCode.UNKNOWN


class RunTimeout(ChaosKafkaError):
    """The whole run took longer than it may. No WaitTimeout: what was waited for had time left and is not to blame."""

    exit_code = ExitCode.UNKNOWN


class NoAnswer(ChaosKafkaError):
    """A broker did not answer a question in time, cut the connection, or answered with something else than Kafka."""

    exit_code = ExitCode.UNKNOWN


class AccessRefused(NoAnswer):
    """A broker did not let us in (user, password, mechanism), or its certificate is not the one to trust."""


class NoTarget(ChaosKafkaError):
    """A fault's target fits nobody right now, so the question cannot be asked."""

    exit_code = ExitCode.UNKNOWN


class FaultFailed(ChaosKafkaError):
    """A fault was not seen to bite, or not seen to heal."""

    exit_code = ExitCode.UNKNOWN


class ClientEnded(ChaosKafkaError):
    """A worker or the observer ended although nobody had asked it to: what came after was not done, or not seen."""

    exit_code = ExitCode.UNKNOWN


class HarnessError(ChaosKafkaError):
    """A bug or broken promise of our own."""

    exit_code = ExitCode.INTERNAL


class Interrupted(ChaosKafkaError):
    """The user pressed Ctrl-C, or SIGTERM or SIGHUP arrived."""

    exit_code = ExitCode.INTERRUPTED


def told(error: BaseException) -> str:
    """An error in words, notes included: what failed while cleaning up after it stands nowhere else."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])
