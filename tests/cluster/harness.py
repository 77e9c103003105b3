"""A harness as a process of its own, for tests that end it or trouble it: `python -m tests.cluster.harness … run …`.

In: options of ours, then chaoskafka's own command line. Out: its exit code, or death by SIGKILL. Each harness has a
state directory and a directory for temporary files of its own: so what it leaves can be told from what others leave.

--die-at N       die at the numbered point N of the undo ledger's protocol
--hold N         stay for HOLD_S at the beginning of phase N, so that a signal surely finds the run in it
--full-in N      from the beginning of phase N on no file grows beyond the size of events.jsonl, as on a full disk
--worker-disk N  each producer writes to a disk of N KiB
--api-timeout-s  how long the engine may take for an answer
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chaoskafka import cli
from chaoskafka.clock import wait_until
from chaoskafka.cluster.undo import Owed
from chaoskafka.history.events import EventLog, read_events
from chaoskafka.history.tape import RECORD_BYTES
from chaoskafka.phases import Phase
from chaoskafka.runtimes.docker import containers, engine
from chaoskafka.runtimes.docker.clients import DIRECTORY
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.ledger import Point, observe, read_ledger
from chaoskafka.runtimes.locks import LEDGER
from chaoskafka.workloads.worker.arguments import WorkerArguments
from tests.cluster.conftest import objects_of

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "tests.cluster.harness")
SMALL = Path(__file__).with_name("small.yaml")
HOLD_S = 0.5
BEGINS_WITHIN_S = 90.0  # any phase, from the one before; a node starts in 3 to 5 s on an idle machine
ENDS_WITHIN_S = 90.0  # once it was asked to; 5 to 10 s on an idle machine
LIVES_WITHIN_S = 300.0  # from its start; 25 s on an idle machine


@dataclass(slots=True, kw_only=True)
class Harness:
    """One run of a small scenario, as a process that can be signalled; and what is left of it."""

    where: Path
    process: subprocess.Popen[bytes] = field(init=False)

    @classmethod
    def start(
        cls, where: Path, *words: str, env: Mapping[str, str] | None = None, terminal: int | None = None
    ) -> Harness:
        """`words`: our options, then `--set …` for the scenario. `terminal`: the process is to be its leader."""
        for each in ("state", "tmp", "out"):
            (where / each).mkdir(parents=True, exist_ok=True)
        settings = words.index("--set") if "--set" in words else len(words)
        run = ["run", str(SMALL), "--out", str(where / "out"), *words[settings:]]
        command = [*COMMAND, *words[:settings], *run]
        harness = cls(where=where)
        harness.process = harness.spawn(command, env or {}, terminal)
        return harness

    def spawn(
        self, command: Sequence[str], env: Mapping[str, str], terminal: int | None = None
    ) -> subprocess.Popen[bytes]:
        """A process with this harness's own directories."""
        own = {"XDG_STATE_HOME": str(self.where / "state"), "TMPDIR": str(self.where / "tmp")}
        environment = {**os.environ, **own, **env}
        if terminal is not None:
            leads = ["setsid", "--ctty", *command]
            return subprocess.Popen(leads, cwd=ROOT, env=environment, stdin=terminal, stdout=terminal, stderr=terminal)
        with (self.where / "output.txt").open("ab") as output:
            return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)

    def heal(self, *words: str) -> int:
        """A new process that has only the engine, the labels and this run's state directory."""
        return self.spawn([*COMMAND, *words, "heal", "--all"], {}).wait(timeout=ENDS_WITHIN_S)

    def wait_for_phase(self, phase: Phase) -> None:
        """Until its events say that the phase has begun."""
        wait_until(
            f"{phase.name} to begin",
            read=lambda: phase in self.begun() or self.process.poll() is not None,
            good=bool,
            within_s=BEGINS_WITHIN_S * 2,
            every_s=0.02,
        )
        assert phase in self.begun(), self.output

    def begun(self) -> list[Phase]:
        """Phases that have begun, in order."""
        for path in (self.where / "out").glob("*/2*/events.jsonl"):
            events = [event.fields for event in read_events(path) if event.event == "phase"]
            return [Phase(fields["number"]) for fields in events if fields["state"] == "begin"]
        return []

    def end(self, *, within_s: float = ENDS_WITHIN_S) -> int:
        """Its exit code; negative: the signal that it died of."""
        return self.process.wait(timeout=within_s)

    @property
    def output(self) -> str:
        path = self.where / "output.txt"
        return path.read_text() if path.exists() else ""

    @property
    def run_dir(self) -> Path:
        (found,) = (self.where / "out").glob("*/2*")
        return found

    @property
    def run_id(self) -> str | None:
        """From its header; None before there is one."""
        for path in (self.where / "out").glob("*/2*/run.json"):
            return str(json.loads(path.read_text())["run_id"])
        return None

    def owed(self) -> tuple[Owed, ...]:
        """What its ledger still owes."""
        return read_ledger(self.where / "state" / "chaoskafka" / "runs" / f"{self.run_id}{LEDGER}").owed

    def left(self, engine: Engine) -> list[str]:
        """Everything of it that still is there: in the engine, in its directories, as a process."""
        objects = objects_of(engine, self.run_id) if self.run_id else []
        files = [str(path) for of in ("state", "tmp") for path in (self.where / of).rglob("*") if not path.is_dir()]
        files += [str(path) for path in (self.where / "tmp").iterdir() if path.is_dir()]
        files += [str(path) for path in (self.where / "state").glob("*/runs/*") if path.is_dir()]
        return [*objects, *files, *_children_of(self.where)]

    def put_down(self) -> None:
        """Leave nothing behind of a test that failed; nothing to do after one that passed."""
        if self.process.poll() is None:
            self.process.kill()
            self.end()
            self.heal()


def _children_of(where: Path) -> list[str]:
    """Processes of this machine that were started with the directories of one harness."""
    mark = f"XDG_STATE_HOME={where / 'state'}".encode()
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(f"process {process.name}")
    return found


def die_at(point: Point) -> None:
    """Die as by the kernel when the protocol passes `point`."""
    observe(lambda passed: os.kill(os.getpid(), signal.SIGKILL) if passed is point else None)


def at_the_beginning(phase: Phase, act: Callable[[EventLog], object]) -> None:
    """Do `act` when the event of `phase` is written."""
    write = EventLog.write

    def acting(log: EventLog, event: str, **fields: Any) -> int:
        at_ns = write(log, event, **fields)
        if event == "phase" and fields["number"] == phase and fields["state"] == "begin":
            act(log)
        return at_ns

    EventLog.write = acting  # type: ignore[method-assign]


def fill_disk(log: EventLog) -> None:
    """A limit on the size of files is met by a write as a full disk is."""
    limit = log._path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


def limit_disks(kib: int) -> None:
    """Producers write to a small disk of their own, in small segments. The engine cannot copy from it."""
    plain, small = containers._draft, f"size={kib}k,mode=1777"

    def draft(plan: containers.Plan) -> Any:
        made = plain(plan)
        if "-client-produce-" in plan.name:
            made.with_tmpfs_mount(DIRECTORY, small)
        return made

    containers._draft = draft
    to_json = WorkerArguments.to_json
    WorkerArguments.to_json = lambda self: to_json(replace(self, segment_bytes=32 * RECORD_BYTES))  # type: ignore[method-assign]


def main(words: list[str]) -> None:
    """Take our own options, and leave the others to the command line."""
    while words[0].startswith("--"):
        match words:
            case ["--die-at", number, *words]:
                die_at(Point(int(number)))
            case ["--hold", number, *words]:
                at_the_beginning(Phase(int(number)), lambda _: threading.Event().wait(HOLD_S))
            case ["--full-in", number, *words]:
                at_the_beginning(Phase(int(number)), fill_disk)
            case ["--worker-disk", kib, *words]:
                limit_disks(int(kib))
            case ["--api-timeout-s", seconds, *words]:
                engine.API_TIMEOUT_S = containers.API_TIMEOUT_S = int(seconds)
            case _:
                sys.exit(f"unknown: {words[0]}")
    sys.argv[1:] = words
    cli.main()


if __name__ == "__main__":
    main(sys.argv[1:])
