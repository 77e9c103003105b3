"""The metadata log as it lay on the controllers' disks once Kafka had stopped, against what was read of it live.

In: a run directory's `logs/*.metadata-log`, and the observer's lines. Out: lines of the same kinds, and in what the two
differ. Pure but for reading those files. What is on disk is the truth: who reads live may miss what it cannot know of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskafka.clock import NS_PER_MS
from chaoskafka.cluster.replay import Replay, lines_of
from chaoskafka.cluster.wire.batches import Damaged, Unreadable, split
from chaoskafka.cluster.wire.records import said_in
from chaoskafka.history.kept import once
from chaoskafka.history.read import History

BYTES_MAX = 64 << 20  # a log of a few minutes is some 100 KiB; reading takes a second per 4 MiB
LINGER_DEFAULT_MS = 25  # controller.quorum.append.linger.ms: how early a timestamp may be, where nobody told it
_TIMES = ("lo_ns", "hi_ns", "by")  # of a line: how it was read, not what it says

Line = Mapping[str, Any]


@once
def lines_on_disk(history: History) -> list[Line]:
    """Of the longest log of all nodes; empty when there is none that can be read."""
    found: list[list[Line]] = []
    for path in sorted((history.run_dir / "logs").glob("*.metadata-log")):
        if path.is_file() and path.stat().st_size <= BYTES_MAX:
            try:
                found.append(list(_lines(history, path)))
            except (Damaged, Unreadable, OSError):
                continue  # there are the other nodes' copies
    return max(filter(None, found), key=lambda lines: (lines[-1]["quorum_epoch"], lines[-1]["offset"]), default=[])


def _lines(history: History, path: Path) -> Iterator[Line]:
    replay = Replay()
    for batch in split(path.read_bytes()):
        lo_ns = batch.base_timestamp_ms * NS_PER_MS - history.header.wall_minus_monotonic_ns
        common = {
            "lo_ns": lo_ns,
            "hi_ns": lo_ns + (LINGER_DEFAULT_MS + 1) * NS_PER_MS,
            "quorum_epoch": batch.leader_epoch,
            "last_offset": batch.last_offset,
            "stamped_ms": batch.base_timestamp_ms,
        }
        for offset, said in said_in(batch):
            for kind, fields in lines_of(replay, said):
                yield {"kind": kind, **fields, "offset": offset, **common}


def differences(read_live: Sequence[Line], on_disk: Sequence[Line]) -> list[str]:
    """Where the two say something else, of the stretch that both have, in the order of offsets."""
    if not read_live or not on_disk:
        return []
    live, disk = _by_offset(read_live), _by_offset(on_disk)
    first, last = max(min(live), min(disk)), min(max(live), max(disk))
    return [
        f"offset {offset}: {_told(live.get(offset))} was read live, {_told(disk.get(offset))} is on disk"
        for offset in sorted(live.keys() | disk.keys())
        if first <= offset <= last and live.get(offset) != disk.get(offset)
    ]


def _by_offset(lines: Sequence[Line]) -> dict[int, dict[str, Any]]:
    return {
        line["offset"]: {key: value for key, value in line.items() if key not in _TIMES and value is not None}
        for line in lines
    }


def _told(line: Mapping[str, Any] | None) -> str:
    if line is None:
        return "nothing"
    about = (line.get("topic"), line.get("partition"), line.get("broker"), line.get("controller"))
    what = "/".join(str(part) for part in about if part is not None)
    return f"{line['kind']} {what} of epoch {line['quorum_epoch']}".replace("  ", " ")
