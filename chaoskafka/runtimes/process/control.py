"""The harness's end of a supervisor: starts it, asks it, and ends it and with it all that runs inside.

In: a directory of the run's own, listening sockets to relay. Out: answers. Errors become EnvironmentFailure here.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoskafka.errors import CommandFailed, EnvironmentFailure, WaitTimeout
from chaoskafka.runtimes.process import supervisor

# All at once, for root as for anybody: who may make a user namespace may make the others inside of it.
UNSHARE = (
    "unshare",
    "--user",
    "--map-root-user",
    "--net",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
)
LOOKS_S = 10.0  # for a try whether they may be made: hundredths of a second
READY_S = 30.0  # a Python interpreter's start: 0.1 s, and seconds on a starved machine
ANSWER_S = 20.0  # beyond what a request itself takes: an answer comes in a millisecond
ENDS_S = 20.0  # for the kernel to end some ten processes of 400 MiB
COMMAND_S = 20.0  # of nft, ss, ip: hundredths of a second
ANSWER_MAX_BYTES = 4 << 20  # two outputs, each at most a megabyte, as JSON

MEND_UNSHARE = "sudo apt-get install util-linux"
MEND = "chaoskafka doctor   # says what the process runtime lacks here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A command that came to its end inside; -9 when it was killed because it took too long. Monotonic instants."""

    code: int
    stdout: str
    stderr: str
    began_ns: int
    ended_ns: int

    @property
    def output(self) -> str:
        return (self.stdout + self.stderr).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """A listening socket out here, and where it leads inside."""

    socket: socket.socket
    host: str
    port: int


class Supervised:
    """A supervisor and all that runs inside. For use by several threads, but for start and end.

    `plain`: inside is no namespace of its own; all the rest is the same.
    """

    def __init__(self, root: Path, *, plain: bool = False) -> None:
        self._root, self._plain = root, plain
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: socket.socket | None = None

    def start(self, relays: Sequence[Relay] = ()) -> None:
        """Blocks until it answers. Raises EnvironmentFailure when this machine forbids the namespaces."""
        if self._plain and shutil.which(supervisor.MORTAL[0]) is None:
            raise EnvironmentFailure(f"{supervisor.MORTAL[0]} is not installed", mend=MEND_UNSHARE)
        self._lifeline, theirs = socket.socketpair()
        with theirs, _listening(self._root) as control, self._log.open("ab") as log:
            fds = {"lifeline": theirs.fileno(), "control": control.fileno()}
            leads = [(relay.socket.fileno(), relay.host, relay.port) for relay in relays]
            given = {**fds, "relays": leads, "plain": self._plain}
            argv = [*(() if self._plain else UNSHARE), sys.executable, "-I", supervisor.__file__, json.dumps(given)]
            try:
                self._process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, supervisor.MARK: self._root.name},
                    pass_fds=[*fds.values(), *(fd for fd, _, _ in leads)],
                    start_new_session=True,  # or Ctrl-C would end it before the harness has restored anything
                )
            except OSError as missing:
                raise EnvironmentFailure(f"{argv[0]}: {missing.strerror}", mend=MEND_UNSHARE) from missing
        self._await_ready(self._lifeline)

    def end(self) -> None:
        """By letting go, then by force. With the outer process all inside has ended. Raises WaitTimeout."""
        if self._lifeline is not None:
            self._lifeline.close()
        if self._process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDS_S)
        if self._process.returncode is None:
            self._process.kill()
            try:
                self._process.wait(ENDS_S)
            except subprocess.TimeoutExpired as late:
                raise WaitTimeout(f"waited {ENDS_S} s for process {self.pid} to end after SIGKILL") from late

    @property
    def pid(self) -> int:
        """The process out here at whose end all inside ends."""
        assert self._process is not None
        return self._process.pid

    def ask(self, do: str, *, answer_s: float = ANSWER_S, **more: object) -> Mapping[str, Any]:
        """One request. Blocks. Raises EnvironmentFailure when it cannot be done, or nobody answers."""
        return request(self._root, do, answer_s=answer_s, **more)

    def run(
        self,
        argv: Sequence[str],
        *,
        at: Path | None = None,
        stdin: str = "",
        within_s: float = COMMAND_S,
    ) -> Done:
        """A command to its end, in the network namespace `at`. Blocks. Raises EnvironmentFailure."""
        answer = self.ask(
            "run",
            answer_s=within_s + ANSWER_S,
            within_s=within_s,
            argv=list(argv),
            at=str(at) if at else None,
            stdin=stdin,
            env=surroundings(),
        )
        return Done(**answer)

    def shell(self, script: str, what: str) -> None:
        """A shell script in the supervisor's own namespaces. Raises CommandFailed."""
        done = self.run(["sh"], stdin=script)
        if done.code != 0:
            raise CommandFailed(what, done.code, done.output, mend=MEND)

    @property
    def _log(self) -> Path:
        return self._root / "supervisor.log"

    def _await_ready(self, lifeline: socket.socket) -> None:
        lifeline.settimeout(READY_S)
        try:
            said = lifeline.recv(16)
        except OSError:
            said = b""
        if not said:
            words = self._log.read_text(errors="replace").strip() or "no answer"
            what = "the supervisor did not start" if self._plain else "no namespaces of our own can be made here"
            raise EnvironmentFailure(f"{what}: {words}", mend=MEND)


def why_no_namespaces() -> str:
    """Why this machine lets us make none; empty if it does. Blocks for hundredths of a second."""
    try:
        done = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, timeout=LOOKS_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as failed:
        return str(failed)
    return "" if done.returncode == 0 else done.stderr.strip() or f"{UNSHARE[0]} ended with {done.returncode}"


def surroundings() -> dict[str, str]:
    """The harness's own environment, with the directories of ip, nft and ss, which are not on everybody's PATH."""
    return {**os.environ, "PATH": f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/local/sbin:/usr/sbin:/sbin"}


def request(root: Path, do: str, *, answer_s: float = ANSWER_S, **more: object) -> Mapping[str, Any]:
    """Ask the supervisor whose directory is `root`. Blocks. Raises EnvironmentFailure."""
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(answer_s)
            with _directory(root) as name:
                asking.connect(name)
            asking.sendall(json.dumps({"do": do, **more}).encode() + b"\n")
            said = b""
            while not said.endswith(b"\n") and len(said) < ANSWER_MAX_BYTES:
                piece = asking.recv(1 << 16)
                if not piece:
                    break
                said += piece
            answer: dict[str, Any] = json.loads(said)
    except (OSError, ValueError) as failed:
        raise EnvironmentFailure(
            f"the supervisor in {root} does not answer ({do}): {failed or 'it has ended'}"
        ) from failed
    if "error" in answer:
        raise EnvironmentFailure(f"the supervisor in {root} could not {do}: {answer['error']}")
    return answer


@contextmanager
def _directory(root: Path) -> Iterator[str]:
    """A short name of the control socket: the address of a Unix socket has at most 107 bytes (unix(7))."""
    directory = os.open(root, os.O_PATH | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/control"
    finally:
        os.close(directory)


@contextmanager
def _listening(root: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listening:
        with _directory(root) as name:
            listening.bind(name)
        listening.listen()
        yield listening
