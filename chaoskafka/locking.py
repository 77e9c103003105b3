"""File locks that never wait. The kernel drops them when their holder ends, however it ends."""

from __future__ import annotations

import fcntl


def try_lock(descriptor: int) -> bool:
    """Take the exclusive lock of an open file, until it is closed; False when somebody else has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
