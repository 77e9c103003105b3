"""A whole run directory of a killed leader, as a run leaves it: every phase begun and ended."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.history.header import RunHeader
from chaoskafka.phases import Phase
from chaoskafka.scenario.model import DEFAULT_EXPECT
from tests.histories.builder import build
from tests.histories.shape import Shape


@pytest.fixture
def run_dir(whole_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole_run, tmp_path / "run"))


@pytest.fixture(scope="package")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once; nobody alters this one."""
    found = build(tmp_path_factory.mktemp("whole") / "run", Shape(partitions=2))
    header = RunHeader.load(found)
    expect = [{word: {}} for word in (*DEFAULT_EXPECT, "no_duplicates", "ordered")]
    expect += [{"new_leader": {"within_s": 5.0}}, {"unavailable": {"at_most_s": 5.0}}]
    replace(header, expect=tuple(expect)).save(found)
    events = [line for line in lines(found) if line["event"] != "phase"]
    first, last = events[0], events[-1]
    phases = [phase for phase in Phase if phase < Phase.JUDGE]
    early = [phase_line(phase, state, first["at_ns"]) for phase in phases[:6] for state in ("begin", "end")]
    late = [phase_line(phase, state, last["at_ns"]) for phase in phases[7:] for state in ("begin", "end")]
    play = [phase_line(Phase.PLAY, "begin", first["at_ns"])], [phase_line(Phase.PLAY, "end", last["at_ns"])]
    write_lines(found, [*early, *play[0], *events, *play[1], *late])
    return found


def phase_line(phase: Phase, state: str, at_ns: int, **fields: Any) -> dict[str, Any]:
    name = phase.title
    at = "2026-01-01T00:00:00.000+00:00"
    return {"at_ns": at_ns, "at": at, "event": "phase", "number": int(phase), "name": name, "state": state, **fields}


def lines(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run_dir / "events.jsonl").read_text().splitlines()]


def write_lines(run_dir: Path, events: list[dict[str, Any]]) -> None:
    (run_dir / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
