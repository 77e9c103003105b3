"""`events.jsonl`: phases, fault events in fours, workers and errors, one JSON object a line, each flushed.

Every line has `at_ns` (monotonic), `at` (wall time, for people) and `event`. Kinds:

phase      {number, name, state: begin|end, error?}
fault      {fault: index in the plan, word, state: beginning|active|healing|healed|failed|skipped, targets: [node id…],
            acted_ns, asked_ns?, evidence, proof}   proof on `active` and `healed`, the others on `active`
worker     {worker, incarnation, state: started|exited, …}
place      {state: begin|end, leader_of, on, moved, evidence}   leadership moved on purpose; moved: null: it was there
condition  {condition: text, state: met|expired, within_s, waited_s?, error?}   what a plan waited for
error      {where, type, text}
recovered  {whole: bool, within_s, waited_s, limit_s, missing: [text…], unstarted: [node…]}   once, after everything was
            healed. whole: in time; within_s: how long it took since the last healing began, null: never in waited_s,
            which goes beyond the limit; missing: what was missing then; unstarted: nodes that nobody started again
note       {text}
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from chaoskafka.clock import Clock, MonotonicClock, utc_now
from chaoskafka.errors import EnvironmentFailure, HistoryError
from chaoskafka.history.stored import Mistyped, parse, read_bytes, typed


class EventLog:
    """Appends events; thread-safe; a context manager that closes the file."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self._path = path
        self._file = path.open("ab", buffering=0)  # nothing is left over that closing could fail to write
        self._lock = threading.Lock()
        self._clock = clock or MonotonicClock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.close()

    def write(self, event: str, **fields: Any) -> int:
        """Record one event now; returns its instant in ns. Raises EnvironmentFailure when there is no room for it."""
        at_ns = self._clock.now_ns()
        line = json.dumps(
            {"at_ns": at_ns, "at": utc_now().isoformat(timespec="milliseconds"), "event": event, **fields}
        )
        with self._lock:
            self._append(line.encode() + b"\n")
        return at_ns

    def _append(self, rest: bytes) -> None:
        whole_bytes = self._file.seek(0, os.SEEK_END)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as full:
            with suppress(OSError):
                self._file.truncate(whole_bytes)  # half a line would spoil the next one
            raise EnvironmentFailure(
                f"{self._path}: cannot be written: {full.strerror}", mend=f"df -h {self._path.parent}"
            ) from full


# What is read of each kind of event, and so must be what it says. Phases of old had no number.
_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "phase": {"number": int | None, "name": str | None, "state": str},
    "fault": {
        "fault": int,
        "word": str,
        "state": str,
        "targets": tuple[int, ...] | None,
        "acted_ns": int | None,
        "evidence": Mapping[str, Any] | None,
        "proof": Mapping[str, Any] | None,
        "error": str | None,
    },
    "recovered": {
        "whole": bool | None,
        "within_s": float | None,
        "waited_s": float | None,
        "limit_s": float | None,
        "missing": tuple[Any, ...] | None,
    },
}


@dataclass(frozen=True, slots=True)
class Event:
    """One line of events.jsonl."""

    at_ns: int
    event: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultWindow:
    """One fault as it was played. An instant that never came is None."""

    index: int  # place in the plan
    word: str
    targets: tuple[int, ...]
    evidence: Mapping[str, Any]
    proof: Mapping[str, Any] | None  # how it was seen to bite; None: it was not
    heal_proof: Mapping[str, Any] | None
    beginning_ns: int  # the nemesis turned to it
    acted_ns: int | None  # the deed was done (for a kill: the signal was sent): time zero of the failover
    active_ns: int | None  # the effect had been observed
    healing_ns: int | None
    healed_ns: int | None  # the healing had been observed
    failure: str | None  # why it failed or was skipped
    asked_ns: int | None = None  # since when the deed may have been done, where that took time; no later than acted_ns


def read_events(path: Path) -> list[Event]:
    """The events of one run, in the order of writing. A last line cut off by a crash is left out.

    Raises HistoryError when the file is missing, or holds a line that is no event.
    """
    *lines, last = read_bytes(path).split(b"\n")
    events = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(_event(line))
        except ValueError as broken:
            raise HistoryError(f"{path}:{number}: not an event: {line[:80]!r}: {broken}") from broken
    with suppress(ValueError):  # cut off, or whole but for its line break
        events.append(_event(last))
    return events


def _event(line: bytes) -> Event:
    """Raises ValueError."""
    fields = parse(line)
    if not isinstance(fields, dict):
        raise Mistyped("it is no object")
    at_ns, event = typed(int, fields.pop("at_ns", None)), typed(str, fields.pop("event", None))
    for name, kind in _FIELDS.get(event, {}).items():
        try:
            typed(kind, fields.get(name))
        except Mistyped as wrong:
            raise Mistyped(f"{name}: {wrong}") from wrong
    return Event(at_ns, event, fields)


def fault_windows(events: list[Event]) -> list[FaultWindow]:
    """Join each fault's events into one window, in the order of the plan."""
    by_index: dict[int, dict[str, Event]] = {}
    for event in events:
        if event.event == "fault":
            by_index.setdefault(event.fields["fault"], {})[event.fields["state"]] = event
    return [_window(index, states) for index, states in sorted(by_index.items())]


def _window(index: int, states: Mapping[str, Event]) -> FaultWindow:
    def at(state: str) -> int | None:
        return states[state].at_ns if state in states else None

    def field(state: str, name: str) -> Any:
        return states[state].fields.get(name) if state in states else None

    first = min(states.values(), key=lambda event: event.at_ns)
    failed = states.get("failed") or states.get("skipped")
    return FaultWindow(
        index=index,
        word=first.fields["word"],
        targets=tuple(field("active", "targets") or ()),
        evidence=field("active", "evidence") or {},
        proof=field("active", "proof"),
        heal_proof=field("healed", "proof"),
        beginning_ns=first.at_ns,
        acted_ns=field("active", "acted_ns"),
        asked_ns=field("active", "asked_ns"),
        active_ns=at("active"),
        healing_ns=at("healing"),
        healed_ns=at("healed"),
        failure=failed.fields.get("error") if failed else None,
    )
