"""One worker's directory becomes its WorkerReport: what it said of itself, what its host saw, what its tape holds.

In: worker.json and exit.json, either of which may be missing; the tape as it was read. Out: WorkerReport.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from chaoskafka.history.header import RunHeader, WorkloadFacts
from chaoskafka.history.tables import WorkerReport
from chaoskafka.history.tape import Kind, Outcome
from chaoskafka.history.tape_reader import Tape

_NAME = re.compile(r"(?P<role>[a-z]+)-(?P<worker>[0-9]+)(\.(?P<incarnation>[0-9]+))?")
_COUNTS = ("offered", "refused", "accepted", "acknowledged", "indeterminate")


def report_of(directory: Path, tape: Tape | None, flaws: tuple[str, ...], header: RunHeader | None) -> WorkerReport:
    """Of a worker that left no tape header, the directory's name (`produce-3`, `consume-4.1`) says who it was."""
    said, seen = _json(directory / "worker.json"), _json(directory / "exit.json")
    who = _who(directory, tape)
    workload = _workload(who["worker"], header)
    if tape is None and workload is not None:
        who["group"] = workload.group
    crash = said.get("crash")
    # After a crash of our own code its counts may be torn between two steps; the tape's are not.
    closed = bool(said) and crash is None
    counts: dict[str, Any] = {name: int(said.get(name, 0)) for name in _COUNTS} if closed else dict(_taped(tape))
    return WorkerReport(
        **who,
        topics=(workload.topic,) if workload is not None else tape.header.topics if tape is not None else (),
        closed=closed,
        **counts,
        lag_max_ms=float(said.get("lag_max_ms", 0.0)),
        lag_p99_ms=float(said.get("lag_p99_ms", 0.0)),
        drained=bool(said.get("drained", False)),
        fatal=tuple(str(text) for text in said.get("fatal", ())),
        crash=crash,
        exit_code=seen.get("code"),
        exit_signal=seen.get("signal"),
        killed_by_us=bool(seen.get("killed_by_us", False)),
        out_of_memory=bool(seen.get("out_of_memory", False)),
        tape_whole=tape is not None and not flaws,
        clock=tape.header.clock if tape is not None else "",
    )


def _who(directory: Path, tape: Tape | None) -> dict[str, Any]:
    if tape is not None:
        header = tape.header
        return {
            "worker": header.worker, "incarnation": header.incarnation, "role": header.role, "group": header.group,
        }  # fmt: skip
    named = _NAME.fullmatch(directory.name)
    if named is None:
        return {"worker": -1, "incarnation": 0, "role": directory.name, "group": None}
    return {
        "worker": int(named["worker"]),
        "incarnation": int(named["incarnation"] or 0),
        "role": named["role"],
        "group": None,
    }


def _workload(worker: int, header: RunHeader | None) -> WorkloadFacts | None:
    """The run's header knows which of its topics a worker used; the tape names them all."""
    workloads = header.workloads if header is not None else ()
    return next((workload for workload in workloads if worker in workload.workers), None)


def _taped(tape: Tape | None) -> dict[str, int]:
    if tape is None:
        return dict.fromkeys(_COUNTS, 0)
    outcomes = tape.records["outcome"][tape.records["kind"] == Kind.SEND]
    offered = len(outcomes)
    refused = int(np.count_nonzero(outcomes == Outcome.REJECTED))
    acknowledged = int(np.count_nonzero(outcomes == Outcome.ACKNOWLEDGED))
    return {
        "offered": offered,
        "refused": refused,
        "accepted": offered - refused,
        "acknowledged": acknowledged,
        "indeterminate": offered - refused - acknowledged,
    }


def _json(path: Path) -> Mapping[str, Any]:
    """Empty when it is missing or cut off: both are written whole or not at all, so nothing is lost by that."""
    try:
        raw = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return raw if isinstance(raw, dict) else {}
