"""What this machine has left for a run: room on a disk, cores, memory that a control group grants. Read, never guessed.

In: paths below /proc and /sys, a directory. Out: figures, and sentences for people where a figure is low.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from chaoskafka.errors import EnvironmentFailure

MIB = 1 << 20
RUN_DISK_MIB = 256  # of one run: histories of a few minutes take 10-50 MiB, node logs as much
NODE_DISK_MIB = 256  # of one node on the engine's disk: Kafka's files and container logs, some 50 MiB a run
STARVED_PERCENT = 50.0  # half of the time somebody waits for a core: poll intervals of 0.1 s then stretch to 0.5 s
HOPELESS_LOAD = 50.0  # runnable tasks per core; at 10 (measured) clusters formed and answered all the same
HARNESS_MIB = 1024  # loading and judging a run of some minutes: 300-600 MiB, Polars included

_WAITED = re.compile(r"^some .*total=(\d+)", re.MULTILINE)
_SOME = re.compile(r"^some avg10=([\d.]+) avg60=([\d.]+)", re.MULTILINE)
_UNLIMITED_BYTES = 1 << 60  # cgroup v1 writes a number near 2**63 for "no limit"
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # v2, v1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """How many this process may use, and how contended they are. `waiting_percent` None: the kernel does not say."""

    usable: int
    waiting_percent: float | None  # of the last 10 s, in which some task waited for a core (PSI, kernel 4.20)
    load: float  # runnable tasks, averaged over a minute

    @property
    def starved(self) -> bool:
        return (self.waiting_percent or 0.0) >= STARVED_PERCENT

    @property
    def hopeless(self) -> bool:
        return self.load >= HOPELESS_LOAD * self.usable

    def __str__(self) -> str:
        waiting = (
            "" if self.waiting_percent is None else f", {self.waiting_percent:.0f} % of the time tasks wait for one"
        )
        return f"{self.usable} cores, load {self.load:.1f}{waiting}"


def cores(pressure: Path = Path("/proc/pressure/cpu")) -> Cores:
    """As they are now."""
    try:
        found = _SOME.search(pressure.read_text())
    except OSError:
        found = None
    waiting = float(found.group(1)) if found else None
    return Cores(usable=len(os.sched_getaffinity(0)), waiting_percent=waiting, load=os.getloadavg()[0])


def waited_ns(pressure: Path = Path("/proc/pressure/cpu")) -> int | None:
    """For how long, since the kernel started, some task waited for a core; None: the kernel does not say (PSI)."""
    try:
        found = _WAITED.search(pressure.read_text())
    except OSError:
        return None
    return int(found.group(1)) * 1000 if found else None


def free_mib(directory: Path) -> int:
    """Free room where a directory is, or would be made. Raises OSError."""
    existing = next(each for each in (directory, *directory.absolute().parents) if each.exists())
    return shutil.disk_usage(existing).free // MIB


def memory_limit_mib(root: Path = Path("/")) -> int | None:
    """What the control group of this process may use, where it is in a container of its own; None: no limit."""
    for name in _LIMITS:
        try:
            text = (root / name.lstrip("/")).read_text().strip()
        except OSError:
            continue
        if text.isdecimal() and int(text) < _UNLIMITED_BYTES:
            return int(text) // MIB
    return None


def check_room(free: int, needed: int, *, where: str, what: str, mend: str) -> None:
    """Raises EnvironmentFailure when less than `needed` MiB are free."""
    if free < needed:
        raise EnvironmentFailure(f"{where} has {free} MiB left, and {what} needs {needed}", mend=mend)


def check_run_directory(run_dir: Path) -> None:
    """Raises EnvironmentFailure when a run's history would fill the disk that it is written to."""
    check_room(
        free_mib(run_dir),
        RUN_DISK_MIB,
        where=f"the disk of {run_dir}",
        what="a run directory",
        mend="remove old run directories (rm -r runs/…), or choose another disk with --out DIR",
    )


def doubts() -> list[str]:
    """What speaks against good figures on this machine, for a run to note: it goes on all the same.

    Raises EnvironmentFailure when there is no hope of an answer.
    """
    now = cores()
    if now.hopeless:
        raise EnvironmentFailure(
            f"this machine is overloaded: {now}", mend="uptime; ps -eo pcpu,args --sort=-pcpu | head"
        )
    notes = []
    if now.starved:
        notes.append(f"cores are starved ({now}): expect wide intervals, and unknown where a limit lies inside one")
    limit = memory_limit_mib()
    if limit is not None and limit < HARNESS_MIB:
        notes.append(f"chaoskafka itself may use {limit} MiB here; judging a run of minutes takes up to {HARNESS_MIB}")
    return notes
