"""Run locks: while a run lives, its process holds a file lock; a lock that is free means that the harness is dead.

The kernel drops the lock when the process ends, however it ends. Locks are files in the user's state directory
(`runs/<run id>.lock`). A lock is taken before anything is created, so that what exists and has no held lock is stray.
Beside it are the run's undo ledger, its scratch directory, and the directory of a cluster of processes.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from chaoskafka.clock import wait_until
from chaoskafka.errors import EnvironmentFailure, UsageError, WaitTimeout
from chaoskafka.locking import try_lock

RUN_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")  # also part of container names, which the engine limits to these

LOCK, LEDGER, SCRATCH, CLUSTER = ".lock", ".ledger", ".scratch", ".cluster"  # what a run has in the directory of locks

_TAKE_WITHIN_S = 2.0  # a sweep of another process holds the lock for an instant while it looks


def runs_directory() -> Path:
    """Where locks are kept; made when it is missing. Raises EnvironmentFailure when it cannot be written."""
    directory = platformdirs.user_state_path("chaoskafka") / "runs"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        raise _not_writable(directory, refused) from refused
    return directory


def _not_writable(path: Path, refused: OSError) -> EnvironmentFailure:
    problem = f"{path}: locks of living runs are kept there, and it cannot be written: {refused.strerror}"
    return EnvironmentFailure(problem, mend="export XDG_STATE_HOME=/a/directory/that/you/may/write")


@contextmanager
def run_lock(run_id: str) -> Iterator[Path]:
    """Hold the lock of `run_id`; yields its file, removed on leaving, as is its scratch directory. Blocks up to 2 s.

    Raises UsageError when the id is malformed or a living run has it.
    """
    if not RUN_ID.fullmatch(run_id):
        raise UsageError(f"run id {run_id!r}: at most 40 of a-z, 0-9, '_', '.', '-', beginning with a letter or digit")
    path = runs_directory() / f"{run_id}{LOCK}"
    try:
        descriptor = wait_until(
            f"the lock {path}",
            read=lambda: _take(path),
            good=lambda taken: taken is not None,
            within_s=_TAKE_WITHIN_S,
            every_s=0.1,
        )
    except WaitTimeout as held:
        raise UsageError(f"run {run_id!r} is alive already: {path} is locked") from held
    assert descriptor is not None
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield path
    finally:
        shutil.rmtree(path.with_name(f"{run_id}{SCRATCH}"), ignore_errors=True)
        path.unlink(missing_ok=True)
        os.close(descriptor)


def scratch_directory(run_id: str) -> Path:
    """A directory for the run's own files, made now; it goes with the lock. A dead run's is found and removed by its
    name, which those in the machine's temporary directory would not be."""
    path = runs_directory() / f"{run_id}{SCRATCH}"
    path.mkdir()
    return path


def cluster_directory(run_id: str) -> Path:
    """The directory of a cluster of processes, made now, for this user alone. Whoever made it removes it."""
    path = runs_directory() / f"{run_id}{CLUSTER}"
    path.mkdir(mode=0o700)
    return path


def remove_directory(path: Path) -> None:
    """Harmless when there is none. Raises EnvironmentFailure, naming what stays."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except OSError as failed:
        raise EnvironmentFailure(f"{path} cannot be removed: {failed}", mend=f"rm -r {path}") from failed


def is_alive(run_id: str) -> bool:
    """Whether some process holds the lock, or the ledger, of `run_id`. A missing or foreign id has none."""
    above = runs_directory()
    return RUN_ID.fullmatch(run_id) is not None and any(_is_held(above / f"{run_id}{of}") for of in (LOCK, LEDGER))


def dead_runs() -> set[str]:
    """Ids of runs of which there is a lock file or a ledger, and no process that holds it."""
    above = runs_directory()
    ids = {path.name.removesuffix(of) for of in (LOCK, LEDGER) for path in above.glob(f"*{of}")}
    return {run_id for run_id in ids if RUN_ID.fullmatch(run_id) and not is_alive(run_id)}


def forget(run_id: str) -> None:
    """Remove what a dead run has in the directory of locks; harmless when that is nothing."""
    if RUN_ID.fullmatch(run_id) and not is_alive(run_id):
        above = runs_directory()
        (above / f"{run_id}{LEDGER}").unlink(missing_ok=True)
        shutil.rmtree(above / f"{run_id}{SCRATCH}", ignore_errors=True)
        (above / f"{run_id}{LOCK}").unlink(missing_ok=True)  # last: by it the others are found


def _take(path: Path) -> int | None:
    """A descriptor that holds the lock of the file that `path` names; None when somebody else holds it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as refused:
        raise _not_writable(path, refused) from refused
    try:
        # Between our open and our lock the file may have been removed as a dead run's; then nobody sees our lock.
        if try_lock(descriptor) and path.exists() and path.samefile(f"/proc/self/fd/{descriptor}"):
            return descriptor
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except PermissionError:
        return True  # another user's: it cannot be told, so it is left alone
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)
