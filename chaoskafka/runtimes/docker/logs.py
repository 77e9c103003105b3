"""What containers wrote, as files: their output, and copies of their directories."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from docker.models.containers import Container

from chaoskafka.clock import wait_until
from chaoskafka.cluster.config import METADATA_LOG
from chaoskafka.errors import ChaosKafkaError, WaitTimeout
from chaoskafka.runtimes.docker.engine import asking
from chaoskafka.runtimes.docker.node import DockerNode

MISSING = "missing.txt"

# A file that grows under the engine's hands spoils the archive; the next copy is usually whole.
_COPY_WITHIN_S = 30.0
_COPY_EVERY_S = 0.2


def gather(nodes: Sequence[DockerNode], into: Path) -> None:
    """Write each node's log to `into`/<node name>.log, its metadata log beside it; what cannot be had is named in
    `into`/missing.txt."""
    into.mkdir(parents=True, exist_ok=True)
    missing = []
    for node in nodes:
        try:
            write_output(node.kafka, into / f"{node.spec.name}.log", stdout=True, stderr=True)
        except (ChaosKafkaError, OSError) as failed:
            missing.append(f"{node.spec.name}.log: {failed}\n")
        try:
            copy_file(node.kafka, METADATA_LOG, into / f"{node.spec.name}.metadata-log")
        except (ChaosKafkaError, OSError) as failed:
            missing.append(f"{node.spec.name}.metadata-log: {failed}\n")
    if missing:
        (into / MISSING).write_text("".join(missing))


def write_output(container: Container, path: Path, *, stdout: bool, stderr: bool) -> None:
    """Write what a container's process wrote so far. Raises EnvironmentFailure."""
    with asking(f"reading the output of {container.name}"), path.open("wb") as file:
        for piece in container.logs(stdout=stdout, stderr=stderr, stream=True, follow=False):
            file.write(piece)


def copy_file(container: Container, path: str, to: Path) -> None:
    """Copy one file out of a container, running or not. Raises EnvironmentFailure and OSError."""
    with tempfile.TemporaryDirectory() as into:
        copy_directory(container, str(PurePosixPath(path).parent), Path(into))
        shutil.copyfile(Path(into) / PurePosixPath(path).name, to)


def copy_directory(container: Container, directory: str, into: Path) -> None:
    """Copy the regular files below `directory` in a container, running or not, to `into`.

    Raises EnvironmentFailure, and WaitTimeout when no whole copy could be had.
    """
    into.mkdir(parents=True, exist_ok=True)

    def try_once() -> str:
        with tempfile.TemporaryFile() as archive, asking(f"copying {directory} of {container.name}"):
            pieces, _ = container.get_archive(directory)
            for piece in pieces:
                archive.write(piece)
            archive.seek(0)
            return _unpack(archive, into)

    try:
        wait_until(
            f"a whole copy of {directory} in {container.name}",
            read=try_once,
            good=lambda trouble: not trouble,
            within_s=_COPY_WITHIN_S,
            every_s=_COPY_EVERY_S,
        )
    except WaitTimeout as spoilt:
        spoilt.add_note("files that change size while they are copied spoil a copy")
        raise


def _unpack(archive: BinaryIO, into: Path) -> str:
    """Returns what was wrong with the archive, or nothing."""
    try:
        with tarfile.open(fileobj=archive, mode="r|") as tar:
            for member in tar:
                parts = PurePosixPath(member.name).parts[1:]  # the first is the directory's own name
                if not member.isfile() or ".." in parts:
                    continue
                content = tar.extractfile(member)
                target = into.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    while content is not None and (piece := content.read(1 << 20)):
                        file.write(piece)
    except tarfile.TarError as broken:
        return f"{type(broken).__name__}: {broken}"
    return ""
