"""The engine as far as images go: open it, look an image up, import a root file system."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound
from docker.models.images import Image
from testcontainers.core.docker_client import DockerClient

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images.recipe import KIND_LABEL, RECIPE_LABEL, Recipe
from chaoskafka.unreachable import why_unreachable

ANSWER_S = 600  # importing or building a large layer is one request, answered at its end
DEBIAN_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def open_engine() -> docker.DockerClient:
    """The engine that clusters will run on, found in the same way. Raises EnvironmentFailure if none answers."""
    try:
        engine = DockerClient(timeout=ANSWER_S).client
        engine.ping()
    except (DockerException, requests.exceptions.RequestException) as error:
        why = why_unreachable(error)
        raise EnvironmentFailure(f"{why.meaning}: {error}", mend=why.mend) from error
    return engine


@contextmanager
def using(given: docker.DockerClient | None) -> Iterator[docker.DockerClient]:
    """The given engine, or one of our own that is closed on leaving. Raises EnvironmentFailure for what it refuses."""
    engine = given or open_engine()
    try:
        yield engine
    except (DockerException, requests.exceptions.RequestException) as failed:
        mend = None if isinstance(failed, APIError) else why_unreachable(failed).mend
        raise EnvironmentFailure(f"the Docker engine failed: {failed}", mend=mend) from failed
    finally:
        if given is None:
            engine.close()


def architecture(engine: docker.DockerClient) -> str:
    """The engine's architecture in Debian's words, amd64 or arm64. Raises EnvironmentFailure for any other."""
    machine = str(engine.info()["Architecture"])
    if machine not in DEBIAN_ARCHITECTURES:
        known = ", ".join(sorted(set(DEBIAN_ARCHITECTURES.values())))
        raise EnvironmentFailure(f"the engine runs on {machine}; images can be built for {known}")
    return DEBIAN_ARCHITECTURES[machine]


def is_current(engine: docker.DockerClient, recipe: Recipe) -> bool:
    """Whether the engine holds this image, made by just this recipe."""
    try:
        return bool(engine.images.get(recipe.name).labels.get(RECIPE_LABEL) == recipe.digest)
    except ImageNotFound:
        return False


def import_root(engine: docker.DockerClient, recipe: Recipe, archive: Path) -> None:
    """Make an image of a root file system (tar, possibly compressed). Blocks. Raises EnvironmentFailure."""
    repository, _, tag = recipe.name.partition(":")
    changes = [f"LABEL {name}={value}" for name, value in recipe.labels.items()]
    try:
        engine.api.import_image_from_file(str(archive), repository=repository, tag=tag, changes=changes)
    except APIError as error:
        raise EnvironmentFailure(f"the engine could not import {recipe.name}: {error}") from error
    if not is_current(engine, recipe):  # the reply is a stream of progress that may end in an error
        raise EnvironmentFailure(f"the engine did not keep {recipe.name} as imported")


def remove_nameless(engine: docker.DockerClient) -> None:
    """Remove images of ours that lost their name to one built again, unless a container still needs them."""
    for image in engine.images.list(filters={"dangling": True, "label": KIND_LABEL}):
        _removed(engine, str(image.id))


def remove_older(engine: docker.DockerClient, *, than: datetime, spare: frozenset[str]) -> list[str]:
    """Remove images of ours that were made before `than`, except those in `spare` or needed by a container.

    Returns the names that were removed. An image that another one stands on keeps its layers until that one is gone.
    """
    old = [
        name
        for image in engine.images.list(filters={"label": KIND_LABEL})
        for name in image.tags
        if name not in spare and _created(image) < than
    ]
    return [name for name in sorted(old) if _removed(engine, name)]


def _removed(engine: docker.DockerClient, name: str) -> bool:
    try:
        engine.images.remove(name)
    except APIError:  # in use: it stays until it is asked for again, and does no harm
        return False
    return True


def _created(image: Image) -> datetime:
    # The engine tells nanoseconds, or as many digits as are not zero; Python takes six at most.
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", str(image.attrs["Created"])))
