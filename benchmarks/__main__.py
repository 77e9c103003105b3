"""`python -m benchmarks`: all of them, one after the other, then the pages that show their figures.

Takes about an hour on two cores that have nothing else to do. Arguments go to each of them.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks import figures
from benchmarks.measure import MISSED, say, text

# The demo looks at what forming has found.
ALL = ("starting", "plugin", "producing", "judging", "forming", "demo", "injecting", "side_by_side", "leftovers")


def main() -> int:
    """Returns MISSED when a goal was missed; what cannot be measured ends it at once."""
    worst = 0
    for name in ALL:
        say(f"benchmarks.{name}")
        code = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]], check=False).returncode
        if code not in (0, MISSED):
            return code
        worst = max(worst, code)
    found = figures.results()
    say("\n\n".join(["", *(text(found[name]) for name in ALL if name in found)]))
    figures.main()
    return worst


if __name__ == "__main__":
    sys.exit(main())
