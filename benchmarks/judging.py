"""`chaoskafka check` of a run of 1,000,000 messages, against only reading and grouping the same tables.

Ours: the command from start to exit, all checks and failover times included, result.json written. Baseline: a process
that reads each of those Parquet files with Polars and counts by message or offset, which is the least that any judge
has to do.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.measure import Figures, Goal, Series, child, in_pairs, pairs_asked, ratios, report

WALL_S_MAX = 2.0
PEAK_MIB_MAX = 600.0
GROUP = """
import sys, pathlib, polars
keys = {"send": "sequence", "read": "sequence", "record": "sequence", "batch": "base_offset"}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/*/*.parquet")):
    polars.read_parquet(path).group_by(keys[path.parent.name]).len().height
"""


def main() -> int:
    """Returns the exit code. Takes about a minute."""
    pairs = pairs_asked(__doc__)
    with tempfile.TemporaryDirectory() as name:
        run_dir = Path(name) / "run"
        child(sys.executable, "-m", "benchmarks.million", run_dir)  # not here, since a child's peak includes ours
        ours, bare = in_pairs(
            lambda: _measured(sys.executable, "-m", "chaoskafka", "check", run_dir),
            lambda: _measured(sys.executable, "-c", GROUP, run_dir),
            pairs,
        )
    times = ratios(ours, bare, "s")
    return report(
        "judging",
        [
            Series(label="chaoskafka check", unit="s", samples=[each["s"] for each in ours]),
            Series(label="chaoskafka check, processor time", unit="s", samples=[each["cpu_s"] for each in ours]),
            Series(label="chaoskafka check, peak", unit="MiB", samples=[each["MiB"] for each in ours]),
            Series(label="read and group", unit="s", samples=[each["s"] for each in bare]),
            Series(label="read and group, peak", unit="MiB", samples=[each["MiB"] for each in bare]),
            Series(label="ratio of times", unit="", samples=times),
        ],
        [
            Goal(what="judging 1,000,000 messages", value=median(e["s"] for e in ours), unit="s", at_most=WALL_S_MAX),
            Goal(what="peak memory", value=median(e["MiB"] for e in ours), unit="MiB", at_most=PEAK_MIB_MAX),
        ],
        packages=("polars",),
    )


def _measured(*argv: str | Path) -> Figures:
    ended = child(*argv)
    return {"s": ended.wall_s, "cpu_s": ended.cpu_s, "MiB": ended.peak_mib}


if __name__ == "__main__":
    sys.exit(main())
