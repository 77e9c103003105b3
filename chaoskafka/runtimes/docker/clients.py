"""Client places: containers on the run's network where workers, the observer and a user's commands run.

In go a command and its environment; out comes a ClientProcess. chaoskafka's own sources are copied in before the
start, so that the image need not be rebuilt when they change; the engine's part of them stays out.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import requests
import urllib3
from docker import errors as docker_errors
from docker.models.containers import Container

import chaoskafka
from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import ExitStatus
from chaoskafka.errors import EnvironmentFailure, WaitTimeout
from chaoskafka.runtimes.docker.containers import Plan, inspect, remove, send_signal, start
from chaoskafka.runtimes.docker.engine import Engine, asking
from chaoskafka.runtimes.docker.labels import Part, labels, object_name
from chaoskafka.runtimes.docker.logs import copy_directory, write_output
from chaoskafka.runtimes.removal import Removal, in_parallel
from chaoskafka.runtimes.status import LINE_MAX_BYTES, parse_status

DIRECTORY = "/var/lib/chaoskafka"
MEMORY_MIB = 1024  # librdkafka alone may queue hundreds of MiB for a silent leader; a leak must not take the machine

_SOURCES = "/opt/chaoskafka"  # on the PYTHONPATH of the client image
_LEFT_OUT = ("runtimes", "images", "__pycache__", "*.pyc")
_JOIN_WITHIN_S = 10.0
_SIGNAL_BASE = 128  # the engine reports death by signal n as exit code 128 + n, as a shell does


def pack_sources(into: Path) -> Path:
    """Copy what a client place may import of chaoskafka to `into`; returns the package's directory."""
    package = into / "chaoskafka"
    shutil.copytree(Path(chaoskafka.__file__).parent, package, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    for path in (package, *package.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # readable by the image's user, whatever our umask is
    return package


class Clients:
    """The client places of one run: launches them, several at once, and removes them all."""

    def __init__(self, engine: Engine, *, run_id: str, image: str, network: str, sources: Path) -> None:
        self._engine, self._run_id, self._image = engine, run_id, image
        self._network, self._sources = network, sources
        self._names: list[str] = []
        self._launched: list[DockerClientProcess] = []

    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str], package: Path | None = None
    ) -> DockerClientProcess:
        """Blocks until the process was started. Raises EnvironmentFailure."""
        plan = self._plan(name, argv, env, package)
        self._names.append(plan.name)  # before it exists: a start whose answer got lost may still have landed
        container = start(self._engine, plan)
        client = DockerClientProcess(self._engine, name, container, self._network)
        self._launched.append(client)
        return client

    def remove_all(self) -> None:
        """Remove every place, running or not, and join what followed it. Tries all; raises the first error."""
        with Removal() as steps:
            for client in self._launched:
                steps.add(f"closing client {client.name}", client.close)
            steps.add("removing clients", lambda: in_parallel("removing", partial(remove, self._engine), self._names))

    def _plan(self, name: str, argv: Sequence[str], env: Mapping[str, str], package: Path | None) -> Plan:
        # The process is PID 1, so SIGTERM reaches it directly; without a handler it would be ignored.
        command = ["python3", *argv[1:]] if argv[0] == "python" else list(argv)
        ours = {"CHAOSKAFKA_DIR": DIRECTORY, "PYTHONUNBUFFERED": "1"}
        return Plan(
            name=object_name(self._run_id, "client", name),
            image=self._image,
            labels=labels(self._run_id, Part.CLIENT),
            memory_mib=MEMORY_MIB,
            command=command,
            environment={**ours, **env},
            network=self._network,
            alias=name,
            copy={self._sources: _SOURCES, **({package: _SOURCES} if package is not None else {})},
            working_dir=DIRECTORY,
        )


class DockerClientProcess:
    """ClientProcess on Docker. A thread follows its status lines from birth to `close`."""

    def __init__(self, engine: Engine, name: str, container: Container, network: str) -> None:
        self._engine, self._name, self._container = engine, name, container
        found = inspect(engine, container)
        self._address: str = found["NetworkSettings"]["Networks"][network]["IPAddress"]
        self._status = _Status(container)
        self._end: ExitStatus | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def address(self) -> str:
        return self._address

    def latest(self) -> Mapping[str, Any] | None:
        """The newest status line; None before the first. Raises EnvironmentFailure when they can be read no longer."""
        if self._status.has_ended:
            self.exited()  # a connection that an engine's death cut ends like one whose process ended: ask which it was
        return self._status.latest()

    def exited(self) -> ExitStatus | None:
        """None while it runs. Blocks for one request to the engine. Raises EnvironmentFailure."""
        if self._end is None:
            state = inspect(self._engine, self._container)["State"]
            if not state["Running"]:
                self._end = _exit_status(state)
        return self._end

    def terminate(self) -> None:
        """SIGTERM. Harmless when it has ended. Raises EnvironmentFailure."""
        send_signal(self._container, "SIGTERM")

    def kill(self) -> None:
        """SIGKILL. Harmless when it has ended. Raises EnvironmentFailure."""
        send_signal(self._container, "SIGKILL")

    def wait(self, *, within_s: float) -> ExitStatus:
        """Blocks. Raises WaitTimeout, with the last status line, and EnvironmentFailure."""
        try:
            end = wait_until(
                f"client {self._name} to end", read=self.exited, good=lambda seen: seen is not None, within_s=within_s
            )
        except WaitTimeout as late:
            late.add_note(f"its last status: {self._status.last_seen()}")
            raise
        assert end is not None
        self._status.join()  # what it said last is part of its end
        return end

    def collect(self, into: Path) -> None:
        """Copy its directory's files, stdout.log and stderr.log to `into`.

        Raises EnvironmentFailure and WaitTimeout.
        """
        copy_directory(self._container, DIRECTORY, into)
        write_output(self._container, into / "stdout.log", stdout=True, stderr=False)
        write_output(self._container, into / "stderr.log", stdout=False, stderr=True)

    def close(self) -> None:
        """Join the thread that follows it; call once the container is gone. Raises WaitTimeout."""
        self._status.join()


class _Status:
    """Follows a container's stdout in a thread and keeps the newest line that is a JSON object."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._latest: Mapping[str, Any] | None = None
        self._broken: Exception | None = None
        with asking(f"following the output of {container.name}"):
            self._stream = container.logs(stdout=True, stderr=False, stream=True, follow=True)
        self._thread = threading.Thread(target=self._follow, name=f"status of {container.name}", daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come."""
        return not self._thread.is_alive()

    def last_seen(self) -> Mapping[str, Any] | None:
        return self._latest

    def latest(self) -> Mapping[str, Any] | None:
        if self._broken is not None:
            raise EnvironmentFailure(
                f"following the output of {self._container.name}: {self._broken}"
            ) from self._broken
        return self._latest

    def join(self) -> None:
        self._thread.join(_JOIN_WITHIN_S)
        if self._thread.is_alive():
            raise WaitTimeout(f"waited {_JOIN_WITHIN_S} s for the end of the output of {self._container.name}")

    def _follow(self) -> None:
        rest = b""
        try:
            for piece in self._stream:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    status = parse_status(line)
                    self._latest = self._latest if status is None else status
                rest = rest if len(rest) <= LINE_MAX_BYTES else b""
        except (
            docker_errors.DockerException,
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            OSError,
        ) as broken:
            self._broken = broken


def _exit_status(state: Mapping[str, Any]) -> ExitStatus:
    code: int = state["ExitCode"]
    if code > _SIGNAL_BASE:
        return ExitStatus(code=None, signal=code - _SIGNAL_BASE, out_of_memory=state["OOMKilled"])
    return ExitStatus(code=code, signal=None, out_of_memory=state["OOMKilled"])
