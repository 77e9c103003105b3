"""Old run directories go, so that a machine that is used again does not fill up. In: how many stay. Out: removals.

Only what a run has made is ever removed: a directory with a run's header, named as runs are, below the directory of its
scenario. What this call played stays, and so does what belongs to a run that still lives.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Collection
from pathlib import Path

from chaoskafka.errors import HistoryError
from chaoskafka.history.header import RunHeader
from chaoskafka.report.result import RESULT_FILE
from chaoskafka.runtimes.locks import is_alive

JUDGED_WITHIN_S = 600.0  # 4 s for a million messages; a machine that swaps takes longer
_RUN = re.compile(r"\d{8}T\d{6}-\d{1,20}(-[0-9a-f]{6})?")


def remove_old(out: Path, scenario: str, *, keep: int, spare: Collection[Path]) -> list[Path]:
    """Remove all but the newest `keep` runs of a scenario; returns what was removed. Raises OSError."""
    spared = {path.resolve() for path in spare}
    found = [path for path in (out / scenario).iterdir() if _RUN.fullmatch(path.name) and not path.is_symlink()]
    removed = []
    for path in sorted(found, key=lambda path: path.name, reverse=True)[keep:]:
        if path.resolve() not in spared and _is_over(path):
            shutil.rmtree(path)
            removed.append(path)
    return removed


def _is_over(run_dir: Path) -> bool:
    """False for what is no run's directory, too: that is somebody else's."""
    try:
        alive = is_alive(RunHeader.load(run_dir).run_id)
    except HistoryError:
        return False
    if (run_dir / RESULT_FILE).exists():
        return not alive
    # Its lock is gone with its cluster; then it is judged, and until then it has no result.
    quiet_s = time.time() - max(path.stat().st_mtime for path in (run_dir, *run_dir.iterdir()))
    return not alive and quiet_s > JUDGED_WITHIN_S
