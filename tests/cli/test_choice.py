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

SCENARIO = """\
topics: {orders: {}}
workloads: [{produce: {topic: orders}}]
plan: [{after_s: 5, isolate: {target: any, for_s: 15}}]
"""

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of Docker's SDK


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
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
