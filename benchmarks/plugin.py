"""A run of pytest that uses nothing of ours, with the plugin installed and without: what it costs everybody else.

Ours: `pytest` on one empty test, as an installed wheel has it. Baseline: the same with `-p no:chaoskafka`, which keeps
pytest from importing the plugin.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.measure import Figures, Goal, Series, child, in_pairs, pairs_asked, report
from tests.installation import Installation, build, install

AT_ONCE = 10  # calls behind one figure: a single one differs from the next by more than what is looked for
COST_MAX_MS = 20.0


def main() -> int:
    """Returns the exit code. Takes about a minute."""
    pairs = pairs_asked(__doc__)
    with tempfile.TemporaryDirectory() as name:
        installed = install(build(Path(name))[1], Path(name))
        (installed.elsewhere / "test_nothing.py").write_text("def test_nothing(): pass\n")
        ours, bare = in_pairs(lambda: _called(installed), lambda: _called(installed, "-p", "no:chaoskafka"), pairs)
    costs = [a["ms"] - b["ms"] for a, b in zip(ours, bare, strict=True)]
    return report(
        "plugin",
        [
            Series(label="pytest, with the plugin", unit="ms", samples=[each["ms"] for each in ours]),
            Series(label="pytest, without", unit="ms", samples=[each["ms"] for each in bare]),
            Series(label="difference", unit="ms", samples=costs),
        ],
        [Goal(what="the plugin's cost to another run", value=median(costs), unit="ms", at_most=COST_MAX_MS)],
        ("pytest",),
    )


def _called(installed: Installation, *options: str) -> Figures:
    """Processor time, the least of several: what else the machine does only ever adds."""
    env = {"HOME": str(installed.home), "PATH": "/usr/bin:/bin"}
    argv: list[str | Path] = [installed.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return {"ms": min(child(*argv, cwd=installed.elsewhere, env=env).cpu_s for _ in range(AT_ONCE)) * 1000}


if __name__ == "__main__":
    sys.exit(main())
