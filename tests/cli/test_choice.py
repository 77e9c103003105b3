"""`--runtime auto`, and $CHAOSKAFKA_RUNTIME."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaoskafka.cli import app
from chaoskafka.commands import RuntimeName
from chaoskafka.commands.choice import chosen
from chaoskafka.runtimes import ABILITIES
from chaoskafka.runtimes.process import control

SCENARIO = """\
topics: {orders: {}}
workloads: [{produce: {topic: orders}}]
plan: [{after_s: 5, isolate: {target: any, for_s: 15}}]
"""

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of Docker's SDK


FORBIDDEN = ("sh", "-c", "echo 'unshare failed: No space left on device' >&2; exit 1")


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nor is it left to this machine whether namespaces can be made."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setattr(control, "UNSHARE", ("true",))
    yield
    gc.collect()  # Docker's SDK drops its socket when it cannot connect; let that warning fall here


def test_without_an_engine_auto_is_process_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert chosen(RuntimeName.AUTO) is RuntimeName.PROCESS
    told = capsys.readouterr().err
    assert told.startswith("chaoskafka: runtime process, as no Docker engine answers: ")
    assert "to mend it" not in told


@pytest.mark.parametrize("name", [name for name in RuntimeName if name is not RuntimeName.AUTO])
def test_what_was_asked_for_is_taken(name: RuntimeName) -> None:
    assert chosen(name) is name


@pytest.mark.parametrize("asked", [RuntimeName.AUTO, RuntimeName.PROCESS])
def test_where_namespaces_are_forbidden_process_is_plain_and_says_so(
    asked: RuntimeName, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "UNSHARE", FORBIDDEN)
    assert chosen(asked) is RuntimeName.PROCESS_PLAIN
    assert capsys.readouterr().err.splitlines()[-1] == (
        "chaoskafka: runtime process-plain, which plays faults of processes only, as namespaces fail:"
        " unshare failed: No space left on device"
    )


def test_where_namespaces_are_forbidden_a_fault_of_the_network_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "UNSHARE", ("nowhere/unshare",))
    file = tmp_path / "case.yaml"
    file.write_text(SCENARIO)
    for command in (["validate"], ["run", "--out", str(tmp_path / "runs")]):
        done = CliRunner().invoke(app, [*command, str(file), "--runtime", "process"])
        assert done.exit_code == 2
        assert (
            f"{file}:3: plan[0].isolate: isolate needs CanPartition, which runtime process-plain lacks" in done.stderr
        )
        assert "namespaces fail: [Errno 2]" in done.stderr


def test_every_runtime_can_be_asked_for() -> None:
    assert {name.value for name in RuntimeName} == {*ABILITIES, "auto"}


def test_the_variable_chooses_and_the_option_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(SCENARIO)
    monkeypatch.setenv("CHAOSKAFKA_RUNTIME", "nothing")
    assert CliRunner().invoke(app, ["validate", str(file)]).exit_code == 2
    assert CliRunner().invoke(app, ["validate", str(file), "--runtime", "process"]).exit_code == 0
    monkeypatch.setenv("CHAOSKAFKA_RUNTIME", "auto")
    assert CliRunner().invoke(app, ["validate", str(file)]).exit_code == 0
