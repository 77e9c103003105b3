"""The client image: the shared base plus the wheels that workers and probes import. Our sources come at launch.

In: recipes/client/requirements.lock, versions and hashes equal to the project's lock. Out: chaoskafka/client.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

import docker

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import commands, engine
from chaoskafka.images.cache import cache_dir
from chaoskafka.images.layers import Layer, build_image
from chaoskafka.images.recipe import RECIPES, Recipe

SOURCES = "/opt/chaoskafka"  # where the runtime puts chaoskafka's own sources when it launches something
WHEELS = "/opt/wheels"
PYTHON = "3.11"  # Debian bookworm's
WITHIN_S = 600.0
REACH = "pip config list   # proxy and index must reach the wheels of the lock; see also $PIP_INDEX_URL, $https_proxy"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
GLIBC = (34, 31, 28, 17)  # manylinux tags that run on bookworm's glibc 2.36, best first


def build_client(client: docker.DockerClient, recipe: Recipe, *, on: str) -> None:
    """Fetch wheels and build. Blocks, about 10 s. Raises CommandFailed if pip refuses a hash or finds no wheel."""
    if importlib.util.find_spec("pip") is None:
        raise EnvironmentFailure("pip is not installed beside chaoskafka", mend=f"{sys.executable} -m ensurepip")
    machine = MACHINES[engine.architecture(client)]
    with tempfile.TemporaryDirectory(dir=cache_dir()) as name:
        wheels, layer = Path(name) / "wheels", Path(name) / "layer.tar"
        commands.run(_pip(wheels, machine), within_s=WITHIN_S, reach=REACH)
        with layer.open("wb") as file:
            content = Layer(file)
            content.directory(SOURCES)
            content.directory(WHEELS)
            content.tree(WHEELS, wheels)
            content.close()
        build_image(
            client, recipe, on=on, layer=layer, instructions=[f"ENV PYTHONPATH={SOURCES}:{WHEELS} PYTHONUNBUFFERED=1"]
        )


def _pip(target: Path, machine: str) -> list[str]:
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in GLIBC]
    return [
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"),
        *("--require-hashes", "--no-deps", "--no-compile", "--only-binary=:all:"),
        *("--implementation=cp", f"--python-version={PYTHON}", *platforms, f"--platform=manylinux2014_{machine}"),
        f"--target={target}",
        f"--requirement={RECIPES / 'client' / 'requirements.lock'}",
    ]
