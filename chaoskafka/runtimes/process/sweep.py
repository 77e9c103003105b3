"""Heals what dead runs on processes left: ends their supervisor, if it still lives, and removes their directory.

In: directories of clusters beside the locks of runs. Out: a report, as of any sweep. When a harness is killed, its
supervisor ends, and with it all that runs inside; what is left is a directory. Only a run that was kept (`--keep`)
still runs, and ends here. What its ledger owes ends with it, as rules and frozen processes are in there too. Without
namespaces, what a node or a client had started may outlive a supervisor that was killed; its environment tells whose
it is.
"""

from __future__ import annotations

import json
import os
import select
import signal
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chaoskafka.clock import boot_id, wait_until
from chaoskafka.errors import WaitTimeout
from chaoskafka.runtimes import locks
from chaoskafka.runtimes.life import is_process, why_spared
from chaoskafka.runtimes.owner import Owner, pid_namespace
from chaoskafka.runtimes.process.supervisor import MARK
from chaoskafka.runtimes.removal import Removal
from chaoskafka.runtimes.report import LeftAlone, SweepReport

ENDS_S = 20.0  # as control: for the kernel to end some ten processes


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The directory of one run's cluster. `owner` and `supervisor` (pid, start) None: it was cut short before."""

    run_id: str
    directory: Path
    owner: Owner | None
    supervisor: tuple[int, int] | None


def sweep(*, all_runs: bool = False) -> SweepReport:
    """Heal dead runs of this machine. Never touches one whose harness is seen to live. Blocks.

    Tries every run, then raises the first error (EnvironmentFailure, WaitTimeout) with the others as notes.
    """
    report = SweepReport()
    left_alone = []
    with Removal() as steps:
        for found in clusters():
            why = why_alive(found, all_runs=all_runs)
            if why is None:
                steps.add(f"healing run {found.run_id}", partial(_heal, found, report))
            else:
                left_alone.append(LeftAlone(run_id=found.run_id, why=why))
    report.left_alone = tuple(left_alone)
    return report


def clusters() -> list[Found]:
    """All there are, of living runs too. Raises EnvironmentFailure."""
    return [_read(path) for path in sorted(locks.runs_directory().glob(f"*{locks.CLUSTER}"))]


def why_alive(found: Found, *, all_runs: bool) -> str | None:
    """Why a run is not to be touched; None: its harness is dead."""
    if locks.is_alive(found.run_id):
        return "its harness holds its lock"
    if found.owner is None:
        return None  # its harness ended before it had started anything
    return why_spared(found.owner, all_runs=all_runs, running=(), is_local=True)


def _read(directory: Path) -> Found:
    owner, supervisor = None, None
    with suppress(OSError, ValueError, KeyError, TypeError):
        document = json.loads((directory / "owner.json").read_text())
        owner = Owner.parse(str(document["owner"]))
        supervisor = (int(document["pid"]), int(document["started_ticks"]))
    run_id = directory.name.removesuffix(locks.CLUSTER)
    return Found(run_id=run_id, directory=directory, owner=owner, supervisor=supervisor)


def _heal(found: Found, report: SweepReport) -> None:
    removed = report.removed.setdefault(found.run_id, [])
    ended = _end(found)
    if _end_strays(found.directory.name) or ended:
        removed.append("its processes")
    locks.remove_directory(found.directory)
    removed.append(str(found.directory))
    locks.forget(found.run_id)


def _end(found: Found) -> bool:
    """End the supervisor, if it is still that process, and with it all inside. Raises WaitTimeout."""
    if found.owner is None or found.supervisor is None or not _is_here(found.owner):
        return False
    pid, started_ticks = found.supervisor
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not is_process(pid, started_ticks) or select.select([descriptor], [], [], 0)[0]:
            return False  # a stranger has its number, or it has ended and nobody has waited for it
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        if not select.select([descriptor], [], [], ENDS_S)[0]:  # readable once it has ended, waited for or not
            raise WaitTimeout(f"waited {ENDS_S} s for process {pid} to end, the supervisor of run {found.run_id}")
    finally:
        os.close(descriptor)
    return True


def _end_strays(directory: str) -> bool:
    """Kill what still runs of the cluster of that name; whether there was any. Blocks. Raises WaitTimeout."""
    mark = f"{MARK}={directory}".encode()

    def killed() -> list[int]:
        here = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
        return [pid for pid in here if _is_marked(pid, mark) and _kill_marked(pid, mark)]

    first = killed()
    wait_until("what a dead run had started to end", read=killed, good=lambda left: not left, within_s=ENDS_S)
    return bool(first)


def _is_marked(pid: int, mark: bytes) -> bool:
    """Whether its environment holds the mark: empty for a process that has ended, not shown for another user's."""
    try:
        return pid != os.getpid() and mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _kill_marked(pid: int, mark: bytes) -> bool:
    """SIGKILL, but to no stranger who has its number by now."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if _is_marked(pid, mark):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            return True
    except ProcessLookupError:
        pass
    finally:
        os.close(descriptor)
    return False


def _is_here(owner: Owner) -> bool:
    """Whether its process ids are ours."""
    return owner.boot == boot_id() and owner.pid_namespace == pid_namespace()
