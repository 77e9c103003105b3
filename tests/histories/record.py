"""Keep a real run as the base of the cases.

    python -m tests.histories.record runs/leader-killed-fast/latest

In: a run directory that every check passes. Out: `tests/histories/base/`, with what judging reads and no more: no logs,
no emptied tapes, no result. An earlier base is replaced.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from chaoskafka.history.read import open_history

BASE = Path(__file__).parent / "base"
KEPT = (
    "run.json",
    "events.jsonl",
    "observations.jsonl",
    "ops/workers.json",
    "ops/*.parquet",
    "ops/send/*.parquet",
    "ops/read/*.parquet",
    "audit/ends.json",
    "audit/record/*.parquet",
    "audit/batch/*.parquet",
)


def record(run_dir: Path, base: Path = BASE) -> Path:
    """Copy what judging reads. Raises HistoryError when `run_dir` is no run directory."""
    open_history(run_dir)
    shutil.rmtree(base, ignore_errors=True)
    for pattern in KEPT:
        for path in sorted(run_dir.glob(pattern)):
            target = base / path.relative_to(run_dir)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return base


if __name__ == "__main__":
    record(Path(sys.argv[1]).resolve())
