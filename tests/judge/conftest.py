"""A whole run directory of a killed leader, as a run leaves it: every phase begun and ended."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.history.header import RunHeader
from chaoskafka.phases import Phase
from chaoskafka.scenario.model import DEFAULT_EXPECT

BUILDER = Path(__file__).parent.parent / "histories" / "builder.py"


def _built(into: Path) -> Path:
    spec = spec_from_file_location("histories_builder", BUILDER)
    assert spec is not None
    assert spec.loader is not None
    builder = module_from_spec(spec)
    sys.modules.setdefault(spec.name, builder)
    spec.loader.exec_module(builder)
    run_dir: Path = builder.build(into)
    return run_dir


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    found = _built(tmp_path / "run")
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
