"""Where downloads are kept between builds: the user's cache directory. Safe to delete at any time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from chaoskafka.clock import UNSTOPPABLE, Clock, wait_until
from chaoskafka.errors import EnvironmentFailure, WaitTimeout
from chaoskafka.locking import try_lock

BUILD_LOCK = "build.lock"
# A build of everything took two minutes on a fast line. Its own limits (20 min each for the root file system and the
# jars, 10 for the wheels) add up to this: whoever holds the lock longer hangs.
WAIT_S = 3000.0
_EVERY_S = 0.5


def cache_dir(*parts: str) -> Path:
    """A directory below the user's cache directory, made if it is not there."""
    path = platformdirs.user_cache_path("chaoskafka").joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def build_lock(
    report: Callable[[str], None] = lambda _: None, *, clock: Clock = UNSTOPPABLE, within_s: float = WAIT_S
) -> Iterator[None]:
    """Held while images are built, so that two commands do not build the same one.

    Blocks while another process has it, and tells `report` which. Raises EnvironmentFailure when that one still builds
    after `within_s`, and Interrupted by the clock. The kernel drops the lock when its holder ends, however it ends.
    """
    path = cache_dir() / BUILD_LOCK
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)  # not truncated: the holder is in there
    try:
        if not try_lock(descriptor):
            report(f"waiting for {_holder(path)}, which builds images ({path} is locked)")
            _wait(descriptor, path, clock, within_s)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, path: Path, clock: Clock, within_s: float) -> None:
    try:
        wait_until(
            f"the lock {path}",
            read=lambda: try_lock(descriptor),
            good=bool,
            within_s=within_s,
            every_s=_EVERY_S,
            clock=clock,
        )
    except WaitTimeout as late:
        holder = _holder(path)
        mend = (
            f"kill {holder.removeprefix('process ')}   # then the same command again" if holder[-1].isdigit() else None
        )
        raise EnvironmentFailure(
            f"waited {within_s:.0f} s for {holder}, which builds images and holds {path}", mend=mend
        ) from late


def _holder(path: Path) -> str:
    pid = path.read_text(errors="replace").strip()
    return f"process {pid}" if pid.isdigit() else "another process"
