"""Lines of the nodes' own logs that bear on one partition around one instant.

In: a run directory's logs, a window of monotonic instants. Out: LogLines and Truncations. Log text is for people: no
verdict depends on it. Reads at most LOG_MAX_BYTES of each node's log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from chaoskafka.clock import NS_PER_MS
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition

LOG_MAX_BYTES = 64 << 20  # of one node: hours of a broker that complains in every line
LINES_MAX = 14  # shown of each kind; more is what `grep` is for
TRUNCATIONS_MAX = 6
TEXT_MAX = 300  # characters of a line
_LINE = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] (\w+) (.*)")
_TELLING = re.compile(r"truncat|leader|epoch|isr|offset|recover|corrupt|fenc", re.IGNORECASE)
_TRUNCATES = re.compile(r"truncat(ing|ed)", re.IGNORECASE)
_NO_EFFECT = re.compile(r"no effect", re.IGNORECASE)
_TRUNCATED_TO = re.compile(r"(?:offset[= ]|to )(\d+)")
_GRAVE = ("WARN", "ERROR", "FATAL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One line of one node."""

    node: str
    at_ns: int
    level: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """A node said that it cut its log of this partition. `to`: to which offset, if it said so."""

    node: str
    at_ns: int
    to: int | None
    text: str


def logged(history: History, begin_ns: int, end_ns: int) -> Iterator[Said]:
    """What any node said in between, by node and in its order. Kafka's containers log in UTC."""
    folder = history.run_dir / "logs"
    for path in sorted(folder.glob("node-*.log")) if folder.is_dir() else []:
        if path.is_file():
            yield from _said(path, history.header.wall_minus_monotonic_ns, begin_ns, end_ns)


def _said(path: Path, wall_minus_ns: int, begin_ns: int, end_ns: int) -> Iterator[Said]:
    node = path.stem.removeprefix("node-")
    with path.open("rb") as file:
        read_bytes = 0
        for raw in file:
            read_bytes += len(raw)
            if read_bytes > LOG_MAX_BYTES:
                return
            found = _LINE.match(raw[: 4 * TEXT_MAX].decode("utf-8", "replace").rstrip())
            at_ns = _instant_ns(found[1], found[2]) if found else None
            if found and at_ns is not None and begin_ns <= at_ns - wall_minus_ns <= end_ns:
                yield Said(node=node, at_ns=at_ns - wall_minus_ns, level=found[3], text=found[4][:TEXT_MAX])


def _instant_ns(second: str, millis: str) -> int | None:
    try:
        at = datetime.fromisoformat(second).replace(tzinfo=UTC)
    except ValueError:  # digits that are no date
        return None
    return int(at.timestamp()) * 1_000_000_000 + int(millis) * NS_PER_MS


def about(said: list[Said], partition: TopicPartition, at_ns: int) -> list[Said]:
    """Of these lines those that name the partition and tell of its leader or log, and grave ones; the nearest first."""
    name = re.compile(rf"\b{re.escape(partition.topic)}-{partition.partition}\b")
    own = [line for line in said if name.search(line.text) and _TELLING.search(line.text)]
    grave = [line for line in said if line.level in _GRAVE and line not in own]
    near = sorted(own, key=lambda line: abs(line.at_ns - at_ns))[:LINES_MAX]
    near += sorted(grave, key=lambda line: abs(line.at_ns - at_ns))[: LINES_MAX - len(near)]
    return sorted(near, key=lambda line: line.at_ns)


def truncations(said: list[Said], partition: TopicPartition, offset: int | None) -> list[Truncation]:
    """Who cut this partition's log at or below `offset` (None: anywhere), as they said themselves. A node tells of one
    cut in several lines; the first is kept."""
    name = re.compile(rf"\b{re.escape(partition.topic)}-{partition.partition}\b")
    found: dict[tuple[str, int | None], Truncation] = {}
    for line in said:
        if not (name.search(line.text) and _TRUNCATES.search(line.text)) or _NO_EFFECT.search(line.text):
            continue
        told = _TRUNCATED_TO.search(line.text)
        to = int(told[1][:18]) if told else None
        if offset is None or to is None or to <= offset:
            cut = Truncation(node=line.node, at_ns=line.at_ns, to=to, text=line.text)
            found.setdefault((line.node, to), cut)
    return list(found.values())[:TRUNCATIONS_MAX]
