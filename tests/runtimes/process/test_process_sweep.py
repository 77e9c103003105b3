"""What dead runs on processes left is found by their directories; those of living ones are spared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes import locks
from chaoskafka.runtimes.owner import process_started_ticks, this_owner
from chaoskafka.runtimes.process import sweep


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def supervisor() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        try:
            yield process
        finally:
            process.kill()


def left(run_id: str, *, owner: str, pid: int, started_ticks: int | None) -> Path:
    directory = locks.cluster_directory(run_id)
    document = {"owner": owner, "pid": pid, "started_ticks": started_ticks}
    (directory / "owner.json").write_text(json.dumps(document))
    return directory


def dead_owner() -> str:
    """A process that was here, and is not any more."""
    return str(replace(this_owner(), started_ticks=1))


def test_a_dead_run_is_removed_and_what_was_kept_of_it_is_ended(supervisor: subprocess.Popen[bytes]) -> None:
    directory = left(
        "dead", owner=dead_owner(), pid=supervisor.pid, started_ticks=process_started_ticks(supervisor.pid)
    )
    assert sweep.sweep().removed == {"dead": ["its processes", str(directory)]}
    assert not directory.exists()
    assert supervisor.wait(30) == -9


def test_a_stranger_with_the_supervisors_old_number_is_not_touched(supervisor: subprocess.Popen[bytes]) -> None:
    directory = left("dead", owner=dead_owner(), pid=supervisor.pid, started_ticks=1)
    assert sweep.sweep().removed == {"dead": [str(directory)]}
    assert supervisor.poll() is None


def test_a_run_whose_harness_lives_is_left_alone() -> None:
    directory = left("kept", owner=str(this_owner()), pid=1, started_ticks=1)
    report = sweep.sweep(all_runs=True)
    assert report.removed == {}
    assert [(run.run_id, run.why) for run in report.left_alone] == [
        ("kept", f"its harness lives: process {os.getpid()}")
    ]
    assert directory.exists()


def test_a_run_whose_lock_is_held_is_left_alone_before_it_has_said_whose_it_is() -> None:
    with locks.run_lock("new"):
        locks.cluster_directory("new")
        assert [run.why for run in sweep.sweep().left_alone] == ["its harness holds its lock"]
    assert list(sweep.sweep().removed) == ["new"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"owner": 1}', '{"owner": "a/b", "pid": "x", "started_ticks": null}'])
def test_a_directory_that_does_not_say_whose_it_is_is_removed(text: str) -> None:
    directory = locks.cluster_directory("torn")
    (directory / "owner.json").write_text(text)
    assert sweep.sweep().removed == {"torn": [str(directory)]}


def test_what_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left("dead", owner=dead_owner(), pid=1, started_ticks=1)

    def refuse(path: Path) -> None:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(locks.shutil, "rmtree", refuse)
    with pytest.raises(EnvironmentFailure, match="Read-only file system") as failed:
        sweep.sweep()
    assert failed.value.mend == f"rm -r {tmp_path}/chaoskafka/runs/dead.cluster"
