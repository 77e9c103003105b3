"""Files from outside, read so that none of them can hang or flood the reader. In: a path. Out: bytes, or why not."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class Unreadable(ValueError):
    """A file cannot be read; the text says why, and leaves the path to the caller."""


def read_regular(path: Path, *, max_bytes: int) -> bytes:
    """The whole of a regular file. Never blocks on a pipe or a device.

    Raises Unreadable: missing, no regular file, refused by the system, or larger than `max_bytes`.
    """
    try:
        # Without O_NONBLOCK opening a named pipe waits for somebody to write to it.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(max_bytes + 1) if stat.S_ISREG(mode) else None
    except OSError as refused:
        raise Unreadable(refused.strerror or str(refused)) from refused
    except ValueError as unnamed:  # a NUL or a lone surrogate
        raise Unreadable("no file can have such a name") from unnamed
    if content is None:
        raise Unreadable("is no regular file")
    if len(content) > max_bytes:
        raise Unreadable(f"is larger than {max_bytes} bytes")
    return content
