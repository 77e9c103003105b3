"""`chaoskafka --help` against the bare interpreter: what the command costs before it does anything.

Ours: the command as an installed wheel has it. Baseline: `python -c pass`, the same interpreter in the same
environment. Not the editable installation of a clone: its import hook would slow the baseline down.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.measure import Figures, Goal, Series, child, in_pairs, pairs_asked, ratios, report
from tests.installation import Installation, build, install

AT_ONCE = 20  # calls behind one figure: a single one is over in too short a time to be compared
RATIO_MAX = 3.0


def main() -> int:
    """Returns the exit code. Takes about half a minute."""
    pairs = pairs_asked(__doc__)
    with tempfile.TemporaryDirectory() as name:
        installed = install(build(Path(name))[1], Path(name))
        command = installed.python.parent / "chaoskafka"
        ours, bare = in_pairs(
            lambda: _called(installed, command, "--help"),
            lambda: _called(installed, installed.python, "-c", "pass"),
            pairs,
        )
    times = ratios(ours, bare, "ms")
    return report(
        "starting",
        [
            Series(label="chaoskafka --help", unit="ms", samples=[each["ms"] for each in ours]),
            Series(label="python -c pass", unit="ms", samples=[each["ms"] for each in bare]),
            Series(label="ratio", unit="", samples=times),
        ],
        [Goal(what="chaoskafka --help to python -c pass", value=median(times), at_most=RATIO_MAX)],
    )


def _called(installed: Installation, *argv: str | Path) -> Figures:
    env = {"HOME": str(installed.home), "PATH": "/usr/bin:/bin"}
    runs = [child(*argv, cwd=installed.elsewhere, env=env) for _ in range(AT_ONCE)]
    return {"ms": median(run.wall_s for run in runs) * 1000}


if __name__ == "__main__":
    sys.exit(main())
