"""What a node's log says of its trouble: text in, few lines out. Pure. For error messages; nothing else parses logs."""

from __future__ import annotations

import re

LINES_MAX = 15  # what a terminal shows beside the message itself; the whole log is in the run directory
CHARACTERS_MAX = 300  # of one line: Kafka prints whole registration records on one

_TROUBLE = re.compile(r"\b(?:ERROR|FATAL)\b|^Exception in thread|^Error\b|OutOfMemoryError")
_FRAME = re.compile(r"\s+at \S+\(|\s+\.\.\. \d+ more")  # of a stack: names classes, not causes


def has_trouble(log: str) -> bool:
    """Whether any line speaks of an error."""
    return any(_TROUBLE.search(line) for line in log.splitlines())


def last_words(log: str) -> tuple[str, ...]:
    """From the first error on, as later ones follow from it; without any, the last lines. No stack frames."""
    lines = [line.rstrip()[:CHARACTERS_MAX] for line in log.splitlines() if line.strip() and not _FRAME.match(line)]
    first = next((i for i, line in enumerate(lines) if _TROUBLE.search(line)), None)
    return tuple(lines[-LINES_MAX:] if first is None else lines[first : first + LINES_MAX])
