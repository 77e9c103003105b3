"""Two runs at once on real clusters: a signal to the command, or its death, ends both and leaves nothing of either."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.errors import ExitCode
from chaoskafka.history.events import read_events
from chaoskafka.phases import Phase
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.open import Images
from tests.cluster.conftest import objects_of
from tests.cluster.harness import ENDS_WITHIN_S, ROOT, SMALL

pytestmark = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.timeout(600)]

PLAYS_WITHIN_S = 180.0  # both of them; 15 s for one on an idle machine


@dataclass(frozen=True)
class Command:
    """`chaoskafka run` of one scenario twice, at once, with directories of its own."""

    where: Path
    process: subprocess.Popen[bytes]

    def run_ids(self) -> list[str]:
        return [json.loads(path.read_text())["run_id"] for path in (self.where / "out").glob("*/2*/run.json")]

    def playing(self) -> int:
        """How many of its runs play their plan."""
        logs = [read_events(path) for path in (self.where / "out").glob("*/2*/events.jsonl")]
        return sum(any(event.fields.get("number") == Phase.PLAY for event in log) for log in logs)

    def processes(self) -> list[str]:
        """Of this command and its runs, by the directory that only they have."""
        mark = f"XDG_STATE_HOME={self.where / 'state'}".encode()
        found = []
        for process in Path("/proc").iterdir():
            with suppress(OSError):
                if process.name.isdigit() and mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(process.name)
        return found

    def left(self, engine: Engine) -> list[str]:
        objects = [name for run_id in self.run_ids() for name in objects_of(engine, run_id)]
        # Not rglob, which fails on a directory that goes while it is walked through.
        locks = [name for _, _, names in os.walk(self.where / "state") for name in names if ".l" in name]
        return [*objects, *self.processes(), *locks]

    @property
    def output(self) -> str:
        return (self.where / "output.txt").read_text()


@pytest.fixture
def command(tmp_path: Path, images: Images) -> Iterator[Command]:
    """Both of its runs play."""
    words = ["run", str(SMALL), "--repeat", "2", "--jobs", "2", "--seed", "1", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    with (tmp_path / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "chaoskafka", *words], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
    made = Command(tmp_path, process)
    try:
        wait_until("both to play", read=made.playing, good=lambda count: count == 2, within_s=PLAYS_WITHIN_S)
        yield made
    finally:
        process.kill()
        process.wait()
        wait_until("its runs to end", read=made.processes, good=lambda left: not left, within_s=ENDS_WITHIN_S)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_and_another_one_end_both_and_leave_nothing(
    command: Command, number: signal.Signals, engine: Engine
) -> None:
    command.process.send_signal(number)
    wait_until("the first to be heard", read=lambda: "please wait" in command.output, good=bool, within_s=10)
    command.process.send_signal(number)
    assert command.process.wait(timeout=ENDS_WITHIN_S) == ExitCode.INTERRUPTED
    assert command.left(engine) == []
    results = json.loads((command.where / "out" / "results.json").read_text())
    assert [run["ended"] for run in results["runs"]] == ["interrupted", "interrupted"]


def test_runs_whose_command_was_killed_end_and_leave_nothing(command: Command, engine: Engine) -> None:
    command.process.kill()
    command.process.wait()
    wait_until("both to end", read=lambda: command.left(engine), good=lambda left: not left, within_s=ENDS_WITHIN_S)
