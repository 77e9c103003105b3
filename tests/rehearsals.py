"""Whole runs on the fake runtime, as fast as they go: what tests of the run and of the fake itself play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pytest

from chaoskafka import nemesis, traffic, under_load
from chaoskafka.audit import settle
from chaoskafka.cluster import ready
from chaoskafka.errors import ExitCode
from chaoskafka.probes import observer
from chaoskafka.progress import Silent
from chaoskafka.rehearsal import Rehearsal
from chaoskafka.report.result import RESULT_FILE, Result, read_result
from chaoskafka.run import RunOptions, run_scenario
from chaoskafka.runtimes.fake.lies import Lie
from chaoskafka.scenario.load import load_text
from chaoskafka.workloads.worker import report

SCENARIO = """\
topics: {orders: {partitions: 2}, other: {partitions: 1}}
workloads:
  - produce: {topic: orders, rate_per_s: 400, message_bytes: 60}
  - consume: {topic: orders, processes: 2, commit_every_s: 0.05}
plan: [{after_s: 0, kill: {target: "leader of orders/0", for_s: 0.1}}]
"""


def hurry(patch: pytest.MonkeyPatch) -> None:
    """A fake answers at once, so that nothing need be asked slowly or waited for long."""
    patch.setattr(ready, "EVERY_S", 0.03)
    patch.setattr(nemesis, "ACTION_S", 0.05)
    patch.setattr(under_load, "TAIL_S", 0.05)
    patch.setattr(settle, "READINGS_APART_S", 0.01)
    patch.setattr(traffic, "STEADY_S", 0.05)
    patch.setattr(traffic, "EVERY_S", 0.01)
    patch.setattr(observer, "STATUS_EVERY_S", 0.02)
    patch.setattr(observer.machine, "waited_ns", lambda: None)  # a fake needs no cores: there is nothing to excuse
    patch.setattr(observer, "LATE_SHARE", 0)
    patch.setattr(report, "STATUS_EVERY_NS", 10_000_000)


@dataclass(frozen=True)
class Played:
    """A run that is over, and the lies that were really told in it."""

    run_dir: Path
    exit_code: ExitCode
    told: frozenset[Lie]
    notes: Sequence[str]

    @cached_property
    def result(self) -> Result:
        return read_result(self.run_dir / RESULT_FILE)


@dataclass
class Notes(Silent):
    """Remembers what a person was told."""

    lines: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.lines.append(text)


def rehearse(out: Path, *lies: Lie, text: str = SCENARIO, settings: Sequence[str] = ()) -> Played:
    """Play a scenario on a fake cluster that tells `lies`. Blocks for a second."""
    notes = Notes()
    options = RunOptions(seed=1, out=out, keep=False, timeout_s=60, progress=notes, replay="chaoskafka run case")
    rehearsal = Rehearsal(lies=frozenset(lies))
    scenario = load_text(text, name="case", settings=settings)
    ended = run_scenario(scenario, options=options, runtime=rehearsal.runtime)
    assert rehearsal.kafka is not None
    return Played(ended.run_dir, ended.exit_code, rehearsal.kafka.told, notes.lines)
