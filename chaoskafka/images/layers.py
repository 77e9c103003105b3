"""Turns a tree of files into an image: a layer (tar) on top of another image, built by the engine.

In: files with owner and mode. Out: an image. Times are fixed, so equal content makes equal layers.
"""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import docker
from docker.errors import APIError, BuildError

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images.recipe import Recipe

OWNER = 1000  # appuser, as in the official image
EPOCH_S = 1_700_000_000  # any fixed time; some tools dislike 1970


class Layer:
    """A tar that is being written. All entries belong to root or to appuser."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - closed by `close`

    def directory(self, path: str, *, owner: int = 0, mode: int = 0o755) -> None:
        """Add a directory; its parents need not be named."""
        info = self._info(path, owner, mode)
        info.type = tarfile.DIRTYPE
        self._tar.addfile(info)

    def text(self, path: str, content: str, *, owner: int = 0, mode: int = 0o644) -> None:
        """Add a file with this content."""
        data = content.encode()
        info = self._info(path, owner, mode)
        info.size = len(data)
        self._tar.addfile(info, io.BytesIO(data))

    def file(self, path: str, source: Path, *, owner: int = 0, mode: int = 0o644) -> None:
        """Add a copy of a file."""
        info = self._info(path, owner, mode)
        info.size = source.stat().st_size
        with source.open("rb") as data:
            self._tar.addfile(info, data)

    def tree(self, path: str, source: Path, *, owner: int = 0) -> None:
        """Add everything under `source`. Files are executable where they are there, or begin with `#!`."""
        for found in sorted(source.rglob("*")):
            inside = f"{path.rstrip('/')}/{found.relative_to(source).as_posix()}"
            if found.is_dir():
                self.directory(inside, owner=owner)
            else:
                self.file(inside, found, owner=owner, mode=0o755 if is_program(found) else 0o644)

    def close(self) -> None:
        self._tar.close()

    @staticmethod
    def _info(path: str, owner: int, mode: int) -> tarfile.TarInfo:
        info = tarfile.TarInfo(path.lstrip("/"))
        info.uid = info.gid = owner
        info.mode, info.mtime = mode, EPOCH_S
        return info


def is_program(path: Path) -> bool:
    """Whether a file is meant to be started: wheels and archives do not always keep the executable bit."""
    with path.open("rb") as file:
        return file.read(2) == b"#!" or bool(path.stat().st_mode & 0o100)


def build_image(
    engine: docker.DockerClient, recipe: Recipe, *, on: str, layer: Path | None, instructions: Sequence[str] = ()
) -> None:
    """Have the engine build `recipe` as `layer` on top of the image `on`. Blocks. Raises EnvironmentFailure."""
    lines = [f"FROM {on}", *(["ADD layer.tar /"] if layer else []), *instructions, _label(recipe.labels)]
    with tempfile.TemporaryFile(dir=layer.parent if layer else None) as file:
        context = Layer(file)
        context.text("Dockerfile", "\n".join(lines) + "\n")
        if layer:
            context.file("layer.tar", layer)
        context.close()
        file.seek(0)
        try:
            engine.images.build(
                fileobj=file, custom_context=True, tag=recipe.name, rm=True, forcerm=True, network_mode="none"
            )
        except (BuildError, APIError) as error:
            raise EnvironmentFailure(f"the engine could not build {recipe.name}: {error}") from error


def _label(labels: Mapping[str, str]) -> str:
    return "LABEL " + " ".join(f"{name}={json.dumps(value)}" for name, value in sorted(labels.items()))
