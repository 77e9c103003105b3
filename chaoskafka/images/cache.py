"""Where downloads are kept between builds: the user's cache directory. Safe to delete at any time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs


def cache_dir(*parts: str) -> Path:
    """A directory below the user's cache directory, made if it is not there."""
    path = platformdirs.user_cache_path("chaoskafka").joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def build_lock() -> Iterator[None]:
    """Held while images are built, so that two commands do not build the same one. Blocks while another has it."""
    with (cache_dir() / "build.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
