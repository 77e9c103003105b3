"""The same scenario on the docker and on the process runtime, in pairs: each step of its failovers, side by side.

A failover takes as long as Kafka's timers and round trips take, wherever its processes stand. What differs is what the
runtimes add: how soon a fault is seen to bite, and how soon a node is back.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.measure import Figures, Series, child, in_pairs, pairs_asked, report
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.statistics.samples import metrics
from chaoskafka.timing.times import STEPS

SCENARIO = "leader-killed"
RUNTIMES = ("docker", "process")


def main() -> int:
    """Returns the exit code. Takes about two minutes for each pair."""
    pairs = pairs_asked(__doc__)
    docker, process = map(_way, RUNTIMES)
    found = dict(zip(RUNTIMES, in_pairs(docker, process, pairs), strict=True))
    return report("side_by_side", side_by_side(found), [])


def _way(runtime: str) -> Callable[[], Figures]:
    return partial(_played, runtime)


def _played(runtime: str) -> Figures:
    """Seconds by step, of the slowest partition, broker or client. A run that does not pass ends the benchmark."""
    with tempfile.TemporaryDirectory() as out:
        child(sys.executable, "-m", "chaoskafka", "run", SCENARIO, "--runtime", runtime, "--out", out)
        (path,) = (Path(out) / SCENARIO).glob(f"2*/{RESULT_FILE}")
        found = metrics([read_result(path)])
        return {metric.step: metric.samples[0].middle_s for metric in found.values() if metric.samples}


def side_by_side(found: Mapping[str, list[Figures]]) -> list[Series]:
    """A series for each step and runtime, in the order of STEPS; one that some run did not have is left out."""
    return [
        Series(label=f"{step}, {runtime}", unit="s", samples=samples)
        for step in STEPS
        for runtime, runs in found.items()
        if len(samples := [run[step] for run in runs if step in run]) == len(runs)
    ]


if __name__ == "__main__":
    sys.exit(main())
