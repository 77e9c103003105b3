"""One run as a process of its own: `python -m chaoskafka.fleet.child`. In: one JSON document on stdin. Out: JSON lines.

Lines: `{"phase": N, "name": …}`, `{"status": …}`, `{"note": …}` while it runs, `{"ended": EXIT CODE, "run_dir": …,
"problem": …}` at its end. SIGTERM ends it as Ctrl-C does; so does the death of who started it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from chaoskafka.errors import ChaosKafkaError, ExitCode, told
from chaoskafka.fleet.playing import How, play
from chaoskafka.phases import interrupted_by_signals
from chaoskafka.scenario.load import load_scenario

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to play. `started_by`: the process that must live on, or this one ends."""

    path: str
    seed: int
    settings: tuple[str, ...]
    variable: tuple[str, ...]
    out: str
    keep: bool
    timeout_s: float | None
    runtime: str
    replay: str
    started_by: int

    def to_json(self) -> str:
        return json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_json(cls, text: str) -> Order:
        values = json.loads(text)
        return cls(**{**values, "settings": tuple(values["settings"]), "variable": tuple(values["variable"])})


class Lines:
    """`Progress` as JSON lines. Thread-safe. Who no longer reads them misses them."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._lock = out, threading.Lock()

    def phase(self, number: int, name: str) -> None:
        self.write({"phase": number, "name": name})

    def status(self, text: str) -> None:
        self.write({"status": text})

    def note(self, text: str) -> None:
        self.write({"note": text})

    def write(self, line: dict[str, Any]) -> None:
        with self._lock, suppress(OSError, ValueError):
            self._out.write(json.dumps(line) + "\n")
            self._out.flush()


def main() -> None:
    """Leaves with 0 once it has said how the run ended: the exit code is for those that could not say it."""
    order = Order.from_json(sys.stdin.read())
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out, interrupted_by_signals():
        os.dup2(2, 1)  # what a library prints is no line of ours
        lines = Lines(out)
        _die_with(order.started_by)
        try:
            lines.write(_ended(order, lines))
        except KeyboardInterrupt:  # before or after the run itself
            lines.write({"ended": ExitCode.INTERRUPTED, "run_dir": None, "problem": "interrupted"})


def _ended(order: Order, lines: Lines) -> dict[str, Any]:
    try:
        scenario = load_scenario(
            Path(order.path), settings=order.settings, variable=order.variable, runtime=order.runtime
        )
        how = How(
            out=Path(order.out), keep=order.keep, timeout_s=order.timeout_s, runtime=order.runtime, replay=order.replay
        )
        outcome = play(scenario, order.seed, how, lines)
    except ChaosKafkaError as error:
        return {"ended": error.exit_code, "run_dir": None, "problem": told(error)}
    return {"ended": outcome.exit_code, "run_dir": str(outcome.run_dir), "problem": ""}


def _die_with(parent: int) -> None:
    """SIGTERM when `parent` dies: what it started must not outlive it. Linux only, as is all of this."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before we had asked
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
