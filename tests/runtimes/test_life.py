"""Who is spared: a run whose harness lives, and one whose harness cannot be seen from here."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.runtimes import life
from chaoskafka.runtimes.docker.sweep import why_alive
from chaoskafka.runtimes.owner import this_owner

ID = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def _own_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def changed(**fields: Any) -> str:
    return str(replace(this_owner(), **fields))


@pytest.mark.parametrize(
    ("owner", "all_runs", "why"),
    [
        (changed(), True, "its harness lives"),  # although its lock file is lost
        (changed(machine="renamed"), True, "its harness lives"),  # a container's host name is not its machine's
        (changed(started_ticks=1), False, None),  # the pid was reused
        (changed(boot="earlier"), False, None),
        (changed(boot="other", machine="elsewhere"), False, "started elsewhere"),
        (changed(boot="other", machine="elsewhere"), True, None),
        ("unknown", False, "started elsewhere"),
        ("unknown", True, None),
    ],
    # The same on every machine and in every process, unlike the labels themselves.
    ids=["living", "renamed", "pid reused", "earlier boot", "elsewhere", "elsewhere, all", "unknown", "unknown, all"],
)
def test_who_lives(owner: str, all_runs: bool, why: str | None) -> None:
    found = why_alive("r1", {owner}, all_runs=all_runs)
    assert found is None if why is None else found is not None and why in found


def test_through_a_remote_engine_a_host_name_proves_nothing() -> None:
    earlier = changed(boot="earlier")
    assert "started elsewhere" in (why_alive("r1", {earlier}, all_runs=False, is_local=False) or "")
    assert why_alive("r1", {earlier}, all_runs=True, is_local=False) is None


@pytest.mark.parametrize(
    ("container", "all_runs", "why"),
    [
        (ID, False, "may live in container 0123456789ab, which runs"),
        (ID, True, "may live in container 0123456789ab, which runs"),
        ("f" * 64, False, "with --all"),
        ("f" * 64, True, None),
        ("", False, "on the machine itself, as root"),
        ("", True, "on the machine itself, as root"),
    ],
)
def test_a_harness_beside_us_is_never_taken_for_dead(
    container: str, all_runs: bool, why: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "INITIAL_PID_NAMESPACE", "not ours")  # as in a container, where we see only a part
    owner = changed(pid_namespace="1", container=container)
    found = why_alive("r1", {owner}, all_runs=all_runs, running={ID})
    assert found is None if why is None else found is not None and why in found


def test_a_process_that_may_not_be_looked_at_counts_as_living(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life, "process_started_ticks", lambda pid: None)  # as /proc mounted with hidepid=2 shows it
    assert life.is_process(os.getpid(), 1)
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    assert not life.is_process(gone.pid, 1)
