"""Where the time of `make demo` goes, and how much of it Kafka needs by itself.

Measured: `chaoskafka run leader-killed`, from the command to its exit, its phases from the run's own events. Against it
the sum of what no harness can shorten: a plain start (the median of results/forming.json), the plan's seconds of steady
load, the time that the node was down (the session timeout passes in it), and the time from its restart until every
partition was whole again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import PAIRS_MIN, RESULTS, Figures, Series, child, pairs_asked, report, say, turn
from chaoskafka.history.events import Event, fault_windows, read_events
from chaoskafka.phases import Phase
from chaoskafka.scenario.find import find_scenario
from chaoskafka.scenario.load import load_scenario

SCENARIO = "leader-killed"
TOTAL, NEEDED, OWN, RATIO = "the demo", "what Kafka needs", "the harness's own", "ratio"


def main() -> int:
    """Returns the exit code. Takes about two minutes for each run."""
    count = pairs_asked(f"{__doc__} A pair is one run.")
    plain_start_s = _plain_start_s()
    runs: list[Figures] = []
    for number in range(count):
        with turn():
            runs.append(_played(plain_start_s))
        say(f"  run {number + 1} of {count}: {runs[-1][TOTAL]:.1f} s, of which Kafka needs {runs[-1][NEEDED]:.1f} s")
    return report(
        "demo",
        [
            Series(label=label, unit="" if label == RATIO else "s", samples=[run[label] for run in runs])
            for label in runs[0]
        ],
        [],
    )


def _played(plain_start_s: float) -> Figures:
    with tempfile.TemporaryDirectory() as out:
        whole = child(sys.executable, "-m", "chaoskafka", "run", SCENARIO, "--out", out)
        (run_dir,) = (Path(out) / SCENARIO).glob("2*")
        return shares(read_events(run_dir / "events.jsonl"), whole_s=whole.wall_s, plain_start_s=plain_start_s)


def shares(events: list[Event], *, whole_s: float, plain_start_s: float) -> Figures:
    """Seconds of one run: in all, what Kafka needs and the rest, and by phase."""
    phases = _phases(events)
    steps = load_scenario(find_scenario(SCENARIO)).plan
    (fault,) = fault_windows(events)
    (recovered,) = [event for event in events if event.event == "recovered"]
    assert fault.acted_ns is not None
    assert fault.healing_ns is not None
    needed = {
        "a plain start": plain_start_s,
        "steady load before the fault": sum(step.after_s for step in steps),
        "the node being down": (fault.healing_ns - fault.acted_ns) / 1e9,
        "restart and recovery": float(recovered.fields["within_s"]),
    }
    needs_s = sum(needed.values())
    return {
        TOTAL: whole_s,
        NEEDED: needs_s,
        OWN: whole_s - needs_s,
        RATIO: whole_s / needs_s,
        **{f"needed: {what}": took_s for what, took_s in needed.items()},
        **phases,
        "before and after the phases": whole_s - sum(phases.values()),
    }


def _phases(events: list[Event]) -> dict[str, float]:
    """How long each phase took, by its title."""
    began: dict[int, int] = {}
    took: dict[str, float] = {}
    for event in events:
        fields: Any = event.fields
        if event.event != "phase":
            continue
        if fields["state"] == "begin":
            began[fields["number"]] = event.at_ns
        else:
            number = fields["number"]
            took[f"phase {number}: {Phase(number).title}"] = (event.at_ns - began[number]) / 1e9
    return took


def _plain_start_s() -> float:
    path = RESULTS / "forming.json"
    if not path.exists():
        raise SystemExit(f"{path.name} is missing; first: python -m benchmarks.forming --pairs {PAIRS_MIN}")
    return float(json.loads(path.read_text())["series"]["plain start"]["median"])


if __name__ == "__main__":
    sys.exit(main())
