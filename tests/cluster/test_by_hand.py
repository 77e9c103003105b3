"""`up`, `status`, `inject`, `down`: a cluster that stands between commands, as a person at a terminal has it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.errors import ExitCode
from chaoskafka.runtimes.docker.engine import Engine
from tests.cluster.conftest import objects_of

pytestmark = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.timeout(600)]

WITHIN_S = 180.0  # any one command; 10 s on an idle machine
KILL = "kill: {target: broker 2}"


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """Where commands are typed: one state directory, one name for the cluster."""

    home: Path
    cluster: str

    def begin(self, *words: str) -> subprocess.Popen[str]:
        env = {**os.environ, "XDG_STATE_HOME": str(self.home)}
        command = [sys.executable, "-m", "chaoskafka", *words]
        return subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def type(self, *words: str) -> tuple[int, str]:
        process = self.begin(*words)
        output, _ = process.communicate(timeout=WITHIN_S)
        return process.returncode, output

    def inject(self, fault: str, *words: str) -> subprocess.Popen[str]:
        """Returns once it was seen to bite."""
        process = self.begin("inject", fault, "--cluster", self.cluster, *words)
        assert process.stdout is not None
        first = process.stdout.readline()
        assert "hit node" in first, first
        return process

    def status(self) -> Any:
        code, output = self.type("status", self.cluster, "--json")
        assert code == 0, output
        return json.loads(output)

    def node(self, number: int) -> Any:
        return next(node for node in self.status()["nodes"] if node["node"] == number)


@pytest.fixture(scope="module")
def terminal(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A cluster that stands, and must be gone without a trace in the end."""
    terminal = Terminal(home=tmp_path_factory.mktemp("state"), cluster=f"hand-{os.getpid()}")
    code, output = terminal.type("up", "--name", terminal.cluster, "--set", "cluster.timeouts=fast")
    assert code == 0, output
    assert "bootstrap.servers=" in output
    yield terminal
    code, output = terminal.type("down", terminal.cluster)
    assert code == 0, output
    assert objects_of(engine, terminal.cluster) == []
    assert list((terminal.home / "chaoskafka" / "runs").iterdir()) == []
    assert terminal.type("status", terminal.cluster)[0] == ExitCode.USAGE


def whole(terminal: Terminal) -> None:
    wait_until(
        "all nodes in service",
        read=lambda: [node["fenced"] for node in terminal.status()["nodes"]],
        good=lambda fenced: not any(fenced),
        within_s=WITHIN_S,
    )


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
    whole(terminal)
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
    whole(terminal)
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
