"""Client places: what is read from stdout, and what is copied in."""

import io
import tarfile
from pathlib import Path

import pytest

from chaoskafka.runtimes.docker.clients import pack_sources
from chaoskafka.runtimes.docker.logs import _unpack
from chaoskafka.runtimes.status import parse_status


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b'{"acked": 3}', {"acked": 3}),
        (b'{"acked": 3', None),  # cut off by a crash
        (b"Traceback (most recent call last):", None),
        (b"[1, 2]", None),
        (b"", None),
        (b'{"\xff": 1}', None),
    ],
)
def test_status_lines(line: bytes, status: dict[str, int] | None) -> None:
    assert parse_status(line) == status


def test_places_get_our_sources_without_the_engines_part(tmp_path: Path) -> None:
    package = pack_sources(tmp_path)
    names = {str(path.relative_to(package)) for path in package.rglob("*")}
    assert {"clock.py", "history/tape.py", "workloads/worker/__init__.py"} <= names
    assert not any(name.startswith(("runtimes", "images")) or "__pycache__" in name for name in names)
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in package.rglob("*"))


def archive(files: dict[str, bytes]) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    out.seek(0)
    return out


def test_unpacking_stays_inside(tmp_path: Path) -> None:
    into = tmp_path / "into"
    packed = archive({"work/a.txt": b"a", "work/sub/b.txt": b"b", "work/../../evil": b"x"})
    assert _unpack(packed, into) == ""
    assert (into / "a.txt").read_bytes() == b"a"
    assert (into / "sub/b.txt").read_bytes() == b"b"
    assert not (tmp_path / "evil").exists()


def test_a_torn_archive_is_noticed(tmp_path: Path) -> None:
    torn = io.BytesIO(archive({"work/a.txt": b"a" * 5000}).getvalue()[:2000])
    assert _unpack(torn, tmp_path) != ""
