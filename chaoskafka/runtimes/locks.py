"""Run locks: while a run lives, its process holds a file lock; a lock that is free means that the harness is dead.

The kernel drops the lock when the process ends, however it ends. Locks are files in the user's state directory
(`runs/<run id>.lock`). A lock is taken before anything is created, so that what exists and has no held lock is stray.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from chaoskafka.clock import wait_until
from chaoskafka.errors import EnvironmentFailure, UsageError, WaitTimeout

RUN_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")  # also part of container names, which the engine limits to these

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
    """Hold the lock of `run_id`; yields its file, which is removed on leaving. Blocks up to 2 s.

    Raises UsageError when the id is malformed or a living run has it.
    """
    if not RUN_ID.fullmatch(run_id):
        raise UsageError(f"run id {run_id!r}: at most 40 of a-z, 0-9, '_', '.', '-', beginning with a letter or digit")
    path = runs_directory() / f"{run_id}.lock"
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
        path.unlink(missing_ok=True)
        os.close(descriptor)


def is_alive(run_id: str) -> bool:
    """Whether some process holds the lock of `run_id`. A missing or foreign id has none."""
    path = runs_directory() / f"{run_id}.lock"
    if not RUN_ID.fullmatch(run_id) or not path.exists():
        return False
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


def forget(run_id: str) -> None:
    """Remove the lock file of a dead run; harmless when there is none."""
    if RUN_ID.fullmatch(run_id) and not is_alive(run_id):
        (runs_directory() / f"{run_id}.lock").unlink(missing_ok=True)


def forget_dead() -> None:
    """Remove the lock file of every dead run."""
    for path in runs_directory().glob("*.lock"):
        forget(path.stem)


def _take(path: Path) -> int | None:
    """A descriptor that holds the lock of the file that `path` names; None when somebody else holds it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as refused:
        raise _not_writable(path, refused) from refused
    try:
        # Between our open and our lock the file may have been removed as a dead run's; then nobody sees our lock.
        if _try_lock(descriptor) and path.exists() and path.samefile(f"/proc/self/fd/{descriptor}"):
            return descriptor
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
