"""An engine that cannot be reached, for real: which reason is told, and what mends it, by both who ask for one."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from urllib3.exceptions import MaxRetryError

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import open_engine
from chaoskafka.runtimes.docker.engine import connect
from chaoskafka.unreachable import why_unreachable

pytestmark = pytest.mark.slow

NOBODY = 65534


def by_runtime() -> None:
    with connect():
        pass


def by_images() -> None:
    open_engine().close()


@pytest.fixture(autouse=True)
def no_warning_escapes() -> Iterator[None]:
    yield
    gc.collect()  # Docker's SDK drops its socket when it cannot connect; let that warning fall here


@contextmanager
def no_such_socket(directory: Path) -> Iterator[Path]:
    yield directory / "nowhere.sock"


@contextmanager
def nobody_listens(directory: Path) -> Iterator[Path]:
    path = directory / "docker.sock"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        yield path


@contextmanager
def not_allowed(directory: Path) -> Iterator[Path]:
    """A socket that root alone may use, asked for by somebody else."""
    path = directory / "docker.sock"
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(path))
        engine.listen()
        path.chmod(0)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(NOBODY)
        try:
            yield path
        finally:
            if is_root:
                os.seteuid(0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("ask", [by_runtime, by_images])
@pytest.mark.parametrize(
    ("engine", "meaning", "mend"),
    [
        (no_such_socket, "there is no such socket", "unset DOCKER_HOST"),
        (nobody_listens, "nobody listens there", "unset DOCKER_HOST"),
        (not_allowed, "you may not use the Docker engine", "sudo usermod -aG docker"),
    ],
)
def test_the_reason_and_what_mends_it(
    ask: Callable[[], None],
    engine: Callable[[Path], contextmanager[Path]],  # type: ignore[valid-type]
    meaning: str,
    mend: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("e")
    for part in (directory, *directory.parents[:2]):
        part.chmod(0o755)  # pytest's own are closed to others, and it is the socket that must refuse
    with engine(directory) as path:  # type: ignore[attr-defined]
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        with pytest.raises(EnvironmentFailure, match=meaning) as failed:
            ask()
    assert (failed.value.mend or "").startswith(mend)


def test_an_engine_that_was_not_chosen_is_started_or_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    mend = why_unreachable(ConnectionRefusedError()).mend
    assert "systemctl start docker" in mend
    assert "apt-get install docker.io" in mend


def test_a_reason_is_found_however_deep_and_a_chain_in_circles_ends() -> None:
    deep = RuntimeError("outer", MaxRetryError(None, "", PermissionError(13, "no")))  # type: ignore[arg-type]
    assert why_unreachable(deep).meaning == "you may not use the Docker engine"
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__context__, second.__context__ = second, first
    assert why_unreachable(first).meaning == "no Docker engine answers"
