"""The Docker engine: where it is, what it has, and its errors in our words.

The one place that knows Docker's SDK errors (`asking`) and that configures testcontainers. The engine is found as
testcontainers finds it: its properties file, DOCKER_HOST, the current docker context, then the default socket; and its
machine likewise: TESTCONTAINERS_HOST_OVERRIDE, then the engine's own address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import docker
import requests
from docker import errors as docker_errors
from testcontainers.core.config import testcontainers_config
from testcontainers.core.docker_client import DockerClient, get_docker_host

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.unreachable import why_unreachable

API_TIMEOUT_S = 120  # of one request; removing a container with a large writable layer took over 10 s on a busy disk
API_OLDEST = (1, 41)  # Docker 20.10, of December 2020: the oldest that we test with
_MIB = 1 << 20

# The reaper would take down what `up` and `--keep` must leave; our own labels and locks find strays instead.
testcontainers_config.ryuk_disabled = True

_BUILD = "chaoskafka image build"
_HEAL = "chaoskafka heal"
_WHY = "chaoskafka doctor"

# Most specific first: error type, HTTP status (None: any), what it means, the command that mends it.
_MEANING: Sequence[tuple[type[Exception], int | None, str, str | None]] = (
    (docker_errors.ImageNotFound, None, "an image is missing", _BUILD),
    (docker_errors.NotFound, None, "it is gone: somebody else removed it", None),
    (docker_errors.APIError, 409, "it is in conflict with what exists", _HEAL),
    (docker_errors.APIError, None, "the Docker engine refused", None),
    (requests.exceptions.Timeout, None, f"the Docker engine did not answer within {API_TIMEOUT_S} s", _WHY),
)


@contextmanager
def asking(what: str) -> Iterator[None]:
    """Translate the engine's errors inside the block into EnvironmentFailure: `what` was asked, and why it failed."""
    try:
        yield
    except (docker_errors.DockerException, requests.exceptions.RequestException) as failed:
        status = failed.status_code if isinstance(failed, docker_errors.APIError) else None
        for kind, code, meaning, mend in _MEANING:
            if isinstance(failed, kind) and code in (None, status):
                raise EnvironmentFailure(f"{what}: {meaning}: {failed}", mend=mend) from failed
        why = why_unreachable(failed)
        raise EnvironmentFailure(f"{what}: {why.meaning}: {failed}", mend=why.mend) from failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A reachable engine. `api` is Docker's SDK; wrap each use of it in `asking`. Close it with `connect`'s block."""

    api: docker.DockerClient
    version: str
    memory_bytes: int
    host: str  # where its published ports are reached from here

    @property
    def is_local(self) -> bool:
        """Whether it is this machine's, as far as its address tells. Its processes may still be another kernel's."""
        return self.host == "127.0.0.1"


@contextmanager
def connect() -> Iterator[Engine]:
    """A connection to the engine, closed on leaving. Blocks for two requests.

    Raises EnvironmentFailure, with the command that mends it, when no engine answers.
    """
    address = get_docker_host()
    where = f" at {address}" if address else ""
    with asking(f"looking for a Docker engine{where}"):
        api = DockerClient(timeout=API_TIMEOUT_S).client
    try:
        with asking(f"asking the Docker engine{where} what it is"):
            info: dict[str, Any] = api.info()
        yield Engine(
            api=api,
            version=info["ServerVersion"],
            memory_bytes=info["MemTotal"],
            host=_reached_at(address, testcontainers_config.tc_host_override),
        )
    finally:
        api.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What an engine says of itself. `api`: the newest version of its API."""

    version: str
    api: str
    storage: str
    cgroup: str
    system: str
    at: str

    @property
    def api_number(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.api.split(".") if part.isdecimal())


def describe(engine: Engine) -> Description:
    """Blocks for two requests. Raises EnvironmentFailure."""
    with asking("asking the Docker engine what it is"):
        version, info = engine.api.version(), engine.api.info()
    return Description(
        version=engine.version,
        api=version["ApiVersion"],
        storage=info["Driver"],
        cgroup=str(info.get("CgroupVersion", "1")),
        system=info["OSType"],
        at=get_docker_host() or "the default socket",
    )


def check_images(engine: Engine, images: Sequence[str]) -> None:
    """Raises EnvironmentFailure naming every image that the engine lacks."""
    missing = []
    for image in images:
        try:
            with asking(f"looking for the image {image}"):
                engine.api.images.get(image)
        except EnvironmentFailure as failed:
            if not isinstance(failed.__cause__, docker_errors.ImageNotFound):
                raise
            missing.append(image)
    if missing:
        raise EnvironmentFailure(f"the Docker engine lacks {', '.join(missing)}", mend=_BUILD)


def check_memory(engine: Engine, needed_mib: int, what: str) -> None:
    """Raises EnvironmentFailure when the machine of the engine has less memory than `what` may use."""
    have_mib = engine.memory_bytes // _MIB
    if needed_mib > have_mib:
        raise EnvironmentFailure(
            f"{what} may use {needed_mib} MiB of memory and the Docker engine's machine has {have_mib}",
            mend="fewer nodes, or smaller: chaoskafka run … --set cluster.memory_mib=600 --set cluster.heap_mib=300",
        )


def _reached_at(address: str | None, override: str | None = None) -> str:
    """Where the ports that the engine publishes are reached. `override`: what the user says of it."""
    if override:
        return "127.0.0.1" if override in ("localhost", "::1") else override
    parts = urlsplit(address or "")
    remote = parts.scheme in ("tcp", "http", "https", "ssh") and parts.hostname not in (None, "localhost", "::1")
    return parts.hostname if remote and parts.hostname else "127.0.0.1"
