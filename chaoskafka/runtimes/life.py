"""Whether the harness that started a run still lives, told from the owner that the run's labels name.

In go an owner and what the engine runs; out comes why the run is to be spared, or None. Whoever cannot be seen from
here is spared: a harness in a container has process ids of its own, and another kernel's are not ours to look up.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from pathlib import Path

from chaoskafka.clock import boot_id
from chaoskafka.runtimes.owner import Owner, pid_namespace, process_started_ticks

INITIAL_PID_NAMESPACE = "4026531836"  # PROC_PID_INIT_INO, the same on every Linux: from there all processes are seen


def why_spared(owner: Owner, *, all_runs: bool, running: Collection[str], is_local: bool) -> str | None:
    """Why a run of this owner is not to be touched; None: its harness is dead, or was asked to be taken for dead.

    `running`: full ids of the containers that run in the engine. `is_local`: whether that is this machine's engine.
    `all_runs` gives up runs that nobody here can know of, but never one whose harness is, or may be, on this machine.
    """
    if owner.boot != boot_id():
        # An earlier boot of this machine. Through a remote engine a name proves nothing: another may have it too.
        if all_runs or (is_local and owner.machine == socket.gethostname()):
            return None
        return f"started elsewhere ({owner}), so its life cannot be seen from here"
    if owner.pid_namespace == pid_namespace():
        return f"its harness lives: process {owner.pid}" if is_process(owner.pid, owner.started_ticks) else None
    return _why_spared_next_door(owner, all_runs=all_runs, running=running)


def is_process(pid: int, started_ticks: int) -> bool:
    """Whether this process lives; one that may not be looked at (/proc mounted with hidepid) counts as living."""
    ticks = process_started_ticks(pid)
    if ticks is not None:
        return ticks == started_ticks
    try:
        os.kill(pid, 0)  # signal 0 only asks
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _why_spared_next_door(owner: Owner, *, all_runs: bool, running: Collection[str]) -> str | None:
    """The same for a harness on this machine whose process ids are not ours."""
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and _is_owner(int(path.name), owner):
            return f"its harness lives: process {path.name}, in a container"
    if _sees_every_process():
        return None
    if owner.container in running:
        return f"its harness may live in container {owner.container[:12]}, which runs"
    if all_runs and owner.container:
        return None
    advice = "with --all it is taken for dead" if owner.container else "heal on the machine itself, as root"
    return f"started in another pid namespace ({owner}), so its life cannot be seen from here: {advice}"


def _sees_every_process() -> bool:
    """The first namespace has them all, and /proc shows them unless it was mounted with hidepid."""
    return pid_namespace() == INITIAL_PID_NAMESPACE and process_started_ticks(1) is not None


def _is_owner(pid: int, owner: Owner) -> bool:
    """Whether our process `pid` is the owner, who has another id where it lives (proc(5), status, NSpid)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    ids = [line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")]
    if not ids or len(ids[0]) < 2 or ids[0][-1] != str(owner.pid):
        return False
    return process_started_ticks(pid) == owner.started_ticks and _may_be_in(pid, owner.pid_namespace)


def _may_be_in(pid: int, namespace: str) -> bool:
    """Only who may trace a process is told its namespace, so not to be told is no answer."""
    try:
        return pid_namespace(str(pid)) == namespace
    except OSError:
        return True
