"""The undo ledger: before a fault acts, how to take it back is on disk; ticked off once that was seen to have worked.

In: deeds that are about to be done. Out: `runs/<run id>.ledger` in the user's state directory, beside the run's lock
and locked itself while its run lives; `chaoskafka heal` reads those of dead runs. Lines of JSON, each batch flushed to
the disk before anything is done:

    {"format": 1, "run_id": "…"}
    {"owed": 1, "fault": 0, "word": "kill", "node": "node-2", "undo": "start"}
    {"done": 1}

A deed is done only after its whole line is on disk, so a last line that was torn off speaks of nothing that happened.
The protocol passes numbered points, in order; each is announced to whoever observes, so that a test can end the
process exactly there.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from chaoskafka.cluster.abilities import Node
from chaoskafka.cluster.undo import Owed, Undo
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes.locks import LEDGER, runs_directory

FORMAT = 1
READ_MAX_BYTES = 1 << 20  # an entry is some 70 bytes; a plan of ten thousand deeds stays below

A = TypeVar("A", bound=Node)
R = TypeVar("R")


class Point(IntEnum):
    """Where a process can die. The first six are passed by the run, the others by a heal of it."""

    BEFORE_WRITE = 1  # nothing is on disk and nothing done
    AFTER_WRITE = 2  # every undo of the fault is on disk, nothing done
    DURING_ACT = 3  # a node was hit, the next perhaps not; passed once per node
    AFTER_ACT = 4  # all were hit
    BEFORE_TICK = 5  # the undo was seen to have worked
    AFTER_TICK = 6
    HEAL_BEFORE_UNDO = 7  # once per entry
    HEAL_AFTER_UNDO = 8
    HEAL_BEFORE_REMOVAL = 9  # nothing is owed any more, all objects are there
    HEAL_BEFORE_FORGETTING = 10  # the objects are gone, ledger and lock are there


Observer = Callable[[Point], None]
_observers: list[Observer] = []  # none, but for tests


def observe(observer: Observer) -> None:
    """Tell `observer` of every point that this process passes from now on."""
    _observers.append(observer)


def announce(point: Point) -> None:
    """The protocol has come to `point`."""
    for observer in _observers:
        observer(point)


class Ledger(Protocol):
    """What playing a fault needs of a ledger."""

    def act(self, nodes: Sequence[A], owed: Sequence[Owed], deed: Callable[[A], R]) -> list[R]:
        """Note what will be owed, then do the deed to one node after the other."""
        ...

    def tick(self, fault: int) -> None:
        """What was owed for this fault was seen to have been taken back."""
        ...

    def tick_all(self) -> None:
        """Everything was restored."""
        ...


class Unwritten:
    """A ledger for those who need not be survived: nothing is written."""

    def act(self, nodes: Sequence[A], owed: Sequence[Owed], deed: Callable[[A], R]) -> list[R]:  # noqa: ARG002
        return [deed(node) for node in nodes]

    def tick(self, fault: int) -> None: ...

    def tick_all(self) -> None: ...


class RunLedger:
    """The ledger of one run. Thread-safe: faults may strike together. Its file is made at the first deed."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._file: int | None = None
        self._size_bytes = 0
        self._count = 0
        self._owed: dict[int, Owed] = {}
        self._lock = threading.RLock()

    def act(self, nodes: Sequence[A], owed: Sequence[Owed], deed: Callable[[A], R]) -> list[R]:
        """Returns what the deed returned, in the order of `nodes`. Blocks for a write to the disk, and for the deeds.

        Raises EnvironmentFailure when the disk does not take the entries, and then nothing was done; and whatever the
        deed raises: then what is owed stays owed.
        """
        with self._lock:
            announce(Point.BEFORE_WRITE)
            self._owe(owed)
            announce(Point.AFTER_WRITE)
        done = []
        for node in nodes:
            done.append(deed(node))
            announce(Point.DURING_ACT)
        announce(Point.AFTER_ACT)
        return done

    def tick(self, fault: int) -> None:
        """Never raises: an undo that stays on disk is done again by a heal, which does no harm."""
        with self._lock:
            self._settle([number for number, owed in self._owed.items() if owed.fault == fault])

    def tick_all(self) -> None:
        """The runtime has restored everything."""
        with self._lock:
            self._settle(list(self._owed))

    def close(self, *, removed: bool) -> None:
        """The run ends. The file stays only if something is owed to nodes that were not `removed`."""
        if self._file is None:
            return
        if removed or not self._owed:
            ledger_path(self._run_id).unlink(missing_ok=True)
        os.close(self._file)
        self._file = None

    def _owe(self, owed: Sequence[Owed]) -> None:
        numbered = dict(enumerate(owed, start=self._count + 1))
        path = ledger_path(self._run_id)
        try:
            self._append({"owed": number, **asdict(one)} for number, one in numbered.items())
        except OSError as refused:
            raise EnvironmentFailure(
                f"{path}: cannot be written, so nothing is broken on purpose: {refused.strerror}",
                mend=f"df -h {path.parent}",
            ) from refused
        self._count += len(owed)
        self._owed |= numbered

    def _settle(self, numbers: Sequence[int]) -> None:
        if not numbers:
            return
        announce(Point.BEFORE_TICK)
        with suppress(OSError):
            self._append({"done": number} for number in numbers)
        for number in numbers:
            del self._owed[number]
        announce(Point.AFTER_TICK)

    def _append(self, entries: Iterable[Mapping[str, object]]) -> None:
        if self._file is None:
            self._file = _create(ledger_path(self._run_id))
            entries = ({"format": FORMAT, "run_id": self._run_id}, *entries)
        rest = "".join(json.dumps(entry) + "\n" for entry in entries).encode()
        size_bytes = self._size_bytes + len(rest)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, self._size_bytes)  # half a line would spoil the next one
            raise
        self._size_bytes = size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLedger:
    """What a ledger on disk says. `problem`: why it cannot be read, or not all of it; labels must do then."""

    owed: tuple[Owed, ...]  # not ticked off, in the order of the deeds
    problem: str | None = None


def ledger_path(run_id: str) -> Path:
    """Where the ledger of a run is, or would be."""
    return runs_directory() / f"{run_id}{LEDGER}"


def read_ledger(path: Path) -> FoundLedger:
    """Never raises: whatever stands there becomes a problem to tell. A missing ledger owes nothing."""
    try:
        with path.open("rb") as file:
            content = file.read(READ_MAX_BYTES)
    except FileNotFoundError:
        return FoundLedger(owed=())
    except OSError as unreadable:
        return FoundLedger(owed=(), problem=f"{path}: {unreadable.strerror}")
    head, *lines = content.split(b"\n")[:-1] or [b""]  # what follows the last newline was torn off
    if not head and not lines:
        return FoundLedger(owed=())
    if (_entry(head) or {}).get("format") != FORMAT:
        return FoundLedger(owed=(), problem=f"{path}: not a ledger of format {FORMAT}")
    owed: dict[int, Owed] = {}
    strange = 0
    for line in lines:
        match _entry(line):
            case {"owed": int(number), "fault": int(fault), "word": str(word), "node": str(node), "undo": undo}:
                if undo in _UNDOS:
                    detail = str((_entry(line) or {}).get("detail", ""))
                    owed[number] = Owed(fault=fault, word=word, node=node, undo=Undo(undo), detail=detail)
                else:
                    strange += 1
            case {"done": int(number)}:
                owed.pop(number, None)
            case _:
                strange += 1
    problem = f"{path}: {strange} of {len(lines)} entries cannot be read" if strange else None
    return FoundLedger(owed=tuple(owed.values()), problem=problem)


_UNDOS = tuple(Undo)


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _create(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)  # our run's lock keeps others away; one that looks holds it for an instant
        os.ftruncate(file, 0)
        directory = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(directory)  # or the name may be lost with the machine, and the ledger with it
        finally:
            os.close(directory)
    except OSError:
        os.close(file)
        raise
    return file
