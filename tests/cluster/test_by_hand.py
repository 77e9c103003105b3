"""`up`, `status`, `inject`, `down`: a cluster that stands between commands, as a person at a terminal has it."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.errors import ExitCode
from chaoskafka.runtimes.docker.engine import Engine
from tests.cluster.conftest import objects_of
from tests.cluster.terminal import WITHIN_S, Terminal, standing

pytestmark = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.timeout(600)]

KILL = "kill: {target: broker 2}"


@pytest.fixture(scope="module")
def terminal(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    with standing(engine, tmp_path_factory.mktemp("state")) as terminal:
        yield terminal


def test_what_stands_is_shown_and_spared_by_a_heal(terminal: Terminal) -> None:
    status = terminal.status()
    assert [node["process"] for node in status["nodes"]] == ["running"] * 3
    assert len(status["partitions"]) == 6
    assert all(len(each["isr"]) == 3 for each in status["partitions"])
    assert status["to_undo"] == []
    code, output = terminal.type("heal")
    assert code == 0
    assert f"left alone {terminal.cluster}: it stands until" in output
    assert terminal.type("up", "--name", terminal.cluster)[0] == ExitCode.USAGE


def test_a_fault_bites_is_shown_and_heals(terminal: Terminal) -> None:
    process = terminal.inject(KILL)
    assert terminal.node(2)["process"] == "ended with 137"
    assert terminal.status()["to_undo"][0]["undo"] == "start"
    code, output = terminal.type("inject", "kill: {target: any}", "--cluster", terminal.cluster)
    assert code == ExitCode.USAGE
    assert "another command is at it" in output
    assert terminal.type("down", terminal.cluster)[0] == ExitCode.USAGE
    process.send_signal(signal.SIGINT)  # there is no --for-s, so that is how a person ends it
    output, _ = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 0, output
    assert "kill: healed" in output
    terminal.wait_whole()
    assert terminal.status()["to_undo"] == []


def test_what_a_dead_command_broke_the_next_heal_takes_back(terminal: Terminal) -> None:
    process = terminal.inject(KILL, "--for-s", "600")
    process.kill()
    process.communicate()
    assert terminal.node(2)["process"] == "ended with 137"
    code, output = terminal.type("inject", "kill: {target: broker 3}", "--cluster", terminal.cluster)
    assert code == ExitCode.USAGE
    assert "chaoskafka heal" in output
    code, output = terminal.type("heal")
    assert code == 0, output
    assert f"undone {terminal.cluster}: kill of node-2: started again" in output
    assert "removed" not in output
    terminal.wait_whole()
    assert terminal.status()["to_undo"] == []


def test_a_start_that_is_cut_short_leaves_nothing(engine: Engine, terminal: Terminal) -> None:
    name = f"{terminal.cluster}-cut"
    process = terminal.begin("up", "--name", name)
    wait_until("containers", read=lambda: objects_of(engine, name), good=bool, within_s=WITHIN_S, every_s=0.1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=WITHIN_S)
    assert process.returncode == ExitCode.INTERRUPTED
    assert objects_of(engine, name) == []
    assert terminal.type("inject", "kill: {target: leader of nothing/0}", "--cluster", terminal.cluster)[0] == 4
