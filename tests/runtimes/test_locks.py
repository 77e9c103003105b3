"""Run locks: held while the process lives, free after its death, however it died."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from chaoskafka.errors import EnvironmentFailure, UsageError
from chaoskafka.runtimes import locks


@pytest.fixture(autouse=True)
def _own_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_run_lives_while_its_lock_is_held() -> None:
    assert not locks.is_alive("r1")
    with locks.run_lock("r1") as path:
        assert locks.is_alive("r1")
        assert path.exists()
    assert not locks.is_alive("r1")
    assert not path.exists()


def test_a_living_run_keeps_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_TAKE_WITHIN_S", 0.1)
    with locks.run_lock("r1"), pytest.raises(UsageError, match="alive already"), locks.run_lock("r1"):
        pass


def test_looking_does_not_take_the_lock_away() -> None:
    with locks.run_lock("r1"):
        assert all(locks.is_alive("r1") for _ in range(3))


def test_a_killed_harness_leaves_a_free_lock() -> None:
    code = (
        "import os, signal\nfrom chaoskafka.runtimes.locks import run_lock\n"
        "with run_lock('r2'):\n os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert (locks.runs_directory() / "r2.lock").exists()
    assert not locks.is_alive("r2")
    with locks.run_lock("r2"):
        assert locks.is_alive("r2")


def test_forgetting_spares_the_living() -> None:
    (locks.runs_directory() / "dead.lock").touch()
    locks.forget("dead")
    locks.forget("never-was")
    with locks.run_lock("living") as path:
        locks.forget("living")
        assert path.exists()
    assert list(locks.runs_directory().iterdir()) == []


def test_the_dead_are_found_by_lock_or_ledger_and_forgotten_with_all_they_had() -> None:
    for name in ("dead.lock", "long-dead.ledger", "v1.2.lock", "Not An Id.lock"):
        (locks.runs_directory() / name).touch()
    with locks.run_lock("dead"):
        assert locks.scratch_directory("dead").is_dir()
        assert locks.dead_runs() == {"long-dead", "v1.2"}
    assert not (locks.runs_directory() / "dead.scratch").exists()
    (locks.runs_directory() / "long-dead.scratch").mkdir()
    for name in ("long-dead", "v1.2"):
        locks.forget(name)
    assert [path.name for path in locks.runs_directory().iterdir()] == ["Not An Id.lock"]


def test_a_held_ledger_is_a_life_too() -> None:
    with (locks.runs_directory() / "r3.ledger").open("w") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        assert locks.is_alive("r3")
        locks.forget("r3")
    assert locks.dead_runs() == {"r3"}


@pytest.mark.parametrize("run_id", ["", "../x", "Upper", "a" * 41, "-a", "a/b"])
def test_malformed_ids(run_id: str) -> None:
    assert not locks.is_alive(run_id)
    with pytest.raises(UsageError, match="run id"), locks.run_lock(run_id):
        pass


def test_a_state_directory_that_cannot_be_written_is_the_environment_and_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentFailure, match="cannot be written") as failed, locks.run_lock("r1"):
        pass
    assert "XDG_STATE_HOME" in (failed.value.mend or "")
