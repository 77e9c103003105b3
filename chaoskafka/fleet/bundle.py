"""What a failure needs, in one file: for an artifact of CI that somebody downloads and judges again elsewhere.

In: run directories. Out: a .tar.gz below SIZE_MAX_BYTES, what says most first; what did not fit is listed in it.
`chaoskafka check` takes an unpacked directory whose tables all fitted.
"""

from __future__ import annotations

import heapq
import io
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SIZE_MAX_BYTES = 20_000_000  # many CI systems and mail servers take no more; a run of two minutes has 1-5 MB
LOG_MAX_BYTES = 4 << 20  # of one log, its end: a broker writes some 100 KiB in a run, in trouble much more
FILE_MAX_BYTES = 64 << 20  # read into memory; larger ones could not fit
FILES_MAX = 5000  # in one bundle: a thousand partitions have 4000 tables
ENTRY_BYTES = 1024  # of tar around a file, before compression
LEFT_OUT = "LEFT-OUT.txt"
_FIRST = ("run.json", "result.json", "traceback.txt", "events.jsonl", "observations.jsonl")
_GROUPS = ("logs", "audit", "ops")  # folders, in this order; what lies beside them comes before


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundled:
    """What became of it."""

    files: int
    left_out: int
    size_bytes: int


def bundle(run_dirs: Sequence[Path], into: Path) -> Bundled:
    """Write `into`, atomically. What of several runs says most comes before what is large of any. Raises OSError."""
    partial = into.with_name(f"{into.name}.partial")
    try:
        done = _pack(run_dirs, partial)
        partial.replace(into)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    return done


def _pack(run_dirs: Sequence[Path], partial: Path) -> Bundled:
    ranked = [(rank, i, path) for i, run_dir in enumerate(run_dirs) for rank, path in _ranked(run_dir)]
    wanted = heapq.nsmallest(FILES_MAX, ranked)
    left_out = [f"{len(ranked) - len(wanted)} more files"] if len(ranked) > len(wanted) else []
    used, files = 0, 0
    with tarfile.open(partial, "w:gz") as archive:
        for _, i, path in wanted:
            name = f"{_name_of(run_dirs[i])}/{path.relative_to(run_dirs[i]).as_posix()}"
            data, cut = _read(path)
            cost = len(zlib.compress(data)) + ENTRY_BYTES
            if cut is None or used + cost > SIZE_MAX_BYTES - len(left_out) * ENTRY_BYTES // 8 - ENTRY_BYTES:
                left_out.append(f"{name}: {path.stat().st_size} bytes")
                continue
            used, files = used + cost, files + 1
            if cut:
                left_out.append(f"{name}: its first {cut} bytes")
            _add(archive, name, data)
        if left_out:
            _add(archive, LEFT_OUT, ("\n".join(left_out) + "\n").encode())
    return Bundled(files=files, left_out=len(left_out), size_bytes=partial.stat().st_size)


def _ranked(run_dir: Path) -> Iterator[tuple[tuple[int, int, str], Path]]:
    """What says most first; within a kind, small before large."""
    for path in run_dir.rglob("*"):
        if not path.is_file() or path.is_symlink():
            continue
        relative = path.relative_to(run_dir)
        if relative.name in _FIRST and len(relative.parts) == 1:
            rank = _FIRST.index(relative.name)
        elif relative.parts[0] in _GROUPS:
            rank = len(_FIRST) + 1 + _GROUPS.index(relative.parts[0])
        else:
            rank = len(_FIRST)
        yield (rank, path.stat().st_size, relative.as_posix()), path


def _read(path: Path) -> tuple[bytes, int | None]:
    """The bytes, and how many at the beginning are missing; None: it is too large to be read."""
    size = path.stat().st_size
    is_log = "logs" in path.parts
    if size > FILE_MAX_BYTES and not is_log:
        return b"", None
    skipped = max(0, size - LOG_MAX_BYTES) if is_log else 0
    with path.open("rb") as file:
        file.seek(skipped)
        return file.read(FILE_MAX_BYTES), skipped


def _name_of(run_dir: Path) -> str:
    """Scenario and run, as they stand below the directory of all runs."""
    real = run_dir.resolve()
    return f"{real.parent.name}/{real.name}"


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))
