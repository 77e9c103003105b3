"""The build lock: who waits knows for whom, hears a stop, and does not wait for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskafka.clock import MonotonicClock
from chaoskafka.errors import EnvironmentFailure, Interrupted
from chaoskafka.images.cache import BUILD_LOCK, build_lock, cache_dir

HOLD = (
    "from chaoskafka.images.cache import build_lock\nimport signal\n"
    "with build_lock():\n    print('held', flush=True)\n    signal.pause()\n"
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def builder(cache: None) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the lock."""
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_nobody_is_waited_for_when_it_is_free() -> None:
    told: list[str] = []
    for _ in range(2):
        with build_lock(told.append):
            assert (cache_dir() / BUILD_LOCK).read_text() == str(os.getpid())
    assert told == []


def test_who_waits_too_long_says_for_whom_and_how_to_end_it(builder: subprocess.Popen[str]) -> None:
    told: list[str] = []
    whom = f"waited 0 s for process {builder.pid}"
    with pytest.raises(EnvironmentFailure, match=whom) as late, build_lock(told.append, within_s=0.01):
        pass
    assert (late.value.mend or "").startswith(f"kill {builder.pid} ")
    (line,) = told
    assert line.startswith(f"waiting for process {builder.pid}, which builds images")


def test_a_stop_ends_the_wait(builder: subprocess.Popen[str]) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Interrupted), build_lock(clock=MonotonicClock(stop)):
        pass


def test_a_holder_that_dies_holds_nothing(builder: subprocess.Popen[str]) -> None:
    told: list[str] = []

    def kill(line: str) -> None:
        told.append(line)
        builder.send_signal(signal.SIGKILL)

    with build_lock(kill, within_s=30):
        assert (cache_dir() / BUILD_LOCK).read_text() == str(os.getpid())
    assert len(told) == 1
