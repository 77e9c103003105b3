"""`chaoskafka heal` where no engine answers: runs on processes are healed, what may be in an engine is not given up."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaoskafka.cli import app
from chaoskafka.errors import ExitCode
from chaoskafka.runtimes import locks

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield
    gc.collect()  # Docker's SDK drops its socket when it cannot connect; let that warning fall here


def test_a_directory_of_a_dead_run_is_removed_and_told() -> None:
    directory = locks.cluster_directory("dead")
    (locks.runs_directory() / "dead.lock").touch()
    done = CliRunner().invoke(app, ["heal"])
    assert done.exit_code == ExitCode.PASS
    assert f"removed dead: {directory}" in done.stdout
    assert "containers were not looked for: " in done.stderr
    assert list(locks.runs_directory().iterdir()) == []


def test_nothing_to_heal() -> None:
    done = CliRunner().invoke(app, ["heal"])
    assert (done.exit_code, done.stdout) == (ExitCode.PASS, "nothing to heal\n")


@pytest.mark.parametrize("options", [[], ["--all"]])
def test_what_may_be_in_the_engine_is_not_given_up(options: list[str]) -> None:
    if not options:
        (locks.runs_directory() / "in-docker.lock").touch()  # its containers may be there
    done = CliRunner().invoke(app, ["heal", *options])
    assert done.exit_code == ExitCode.ENVIRONMENT
    assert "looking for a Docker engine" in done.stderr
