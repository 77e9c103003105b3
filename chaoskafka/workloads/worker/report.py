"""`worker.json`: what a worker says of itself at its end, and its status lines while it runs.

In: the loop's own counts. Out: files and lines that docs/worker-protocol.md describes. The report is written before
every step that may hang, each time as the truth up to there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from chaoskafka.clock import NS_PER_MS, clock_id
from chaoskafka.workloads.worker.client import ClientError

STATUS_EVERY_NS = 500 * NS_PER_MS
FATAL_MAX = 20  # texts kept; the tape has every error

# Exit codes of a worker, besides 0: it ended as it was asked to.
EXIT_FATAL = 69  # the client failed fatally (EX_UNAVAILABLE)
EXIT_CRASH = 70  # an exception of our own code (EX_SOFTWARE)
EXIT_HANG = 75  # the client's close did not return within its bound


@dataclass(slots=True, kw_only=True)
class ClosingReport:
    """Fields are the keys of worker.json. Counts of a producer; zeros of a consumer."""

    worker: int
    incarnation: int
    offered: int = 0
    refused: int = 0
    accepted: int = 0
    acknowledged: int = 0
    indeterminate: int = 0  # errors in delivery reports, and what never got one
    lag_max_ms: float = 0.0
    lag_p99_ms: float = 0.0
    drained: bool = False
    fatal: list[str] = field(default_factory=list)
    crash: str | None = None

    def save(self, directory: Path) -> None:
        """Write atomically."""
        path = directory / "worker.json"
        partial = path.with_suffix(".json.partial")
        partial.write_text(json.dumps(asdict(self), indent=1) + "\n")
        partial.replace(path)

    def note(self, error: ClientError) -> None:
        """Keep a fatal error's text."""
        if error.fatal and len(self.fatal) < FATAL_MAX:
            self.fatal.append(f"{error.code}: {error.text}")


class StatusLine:
    """Writes at most one line per STATUS_EVERY_NS to `out` (None: stdout)."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out if out is not None else sys.stdout
        self._due_ns = 0
        self._clock = clock_id()

    def is_due(self, now_ns: int) -> bool:
        return now_ns >= self._due_ns

    def show(self, now_ns: int, line: Mapping[str, Any]) -> None:
        """One JSON object, flushed. Blocks while nobody reads `out` and it is a full pipe."""
        self._due_ns = now_ns + STATUS_EVERY_NS
        self._out.write(json.dumps({"at_ns": now_ns, "clock": self._clock, **line}) + "\n")
        self._out.flush()
