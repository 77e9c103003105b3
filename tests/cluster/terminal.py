"""A terminal at which commands are typed, for tests of clusters that stand between commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoskafka.clock import wait_until
from chaoskafka.errors import ExitCode
from chaoskafka.runtimes.docker.engine import Engine
from tests.cluster.conftest import objects_of

WITHIN_S = 180.0  # any one command; 10 s on an idle machine
CHAOSKAFKA = (sys.executable, "-m", "chaoskafka")


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """Where commands are typed: one state directory, one name for the cluster."""

    home: Path
    cluster: str

    def begin(self, *words: str, program: Sequence[str] = CHAOSKAFKA) -> subprocess.Popen[str]:
        env = {**os.environ, "XDG_STATE_HOME": str(self.home)}
        return subprocess.Popen(
            [*program, *words], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def type(self, *words: str, program: Sequence[str] = CHAOSKAFKA) -> tuple[int, str]:
        process = self.begin(*words, program=program)
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

    def wait_whole(self) -> None:
        """Until every node is in service."""
        wait_until(
            "all nodes in service",
            read=lambda: [node["fenced"] for node in self.status()["nodes"]],
            good=lambda fenced: not any(fenced),
            within_s=WITHIN_S,
        )


@contextmanager
def standing(engine: Engine, home: Path) -> Iterator[Terminal]:
    """A cluster that stands, and must be gone without a trace in the end."""
    terminal = Terminal(home=home, cluster=f"hand-{os.getpid()}")
    code, output = terminal.type("up", "--name", terminal.cluster, "--set", "cluster.timeouts=fast")
    assert code == 0, output
    assert "bootstrap.servers=" in output
    yield terminal
    code, output = terminal.type("down", terminal.cluster)
    assert code == 0, output
    assert objects_of(engine, terminal.cluster) == []
    assert list((terminal.home / "chaoskafka" / "runs").iterdir()) == []
    assert terminal.type("status", terminal.cluster)[0] == ExitCode.USAGE
