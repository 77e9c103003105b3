"""Status lines: what a client process says of itself, a JSON object on a line of its stdout. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

LINE_MAX_BYTES = 1 << 20  # a status line is some hundred bytes; anything longer is not one


def parse_status(line: bytes) -> Mapping[str, Any] | None:
    """One line of stdout as a status; None when it is something else that the process printed."""
    if not line.startswith(b"{"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def newest(lines: Sequence[bytes]) -> Mapping[str, Any] | None:
    """The last line that is a status; None when none is."""
    return next((status for line in reversed(lines) if (status := parse_status(line)) is not None), None)
