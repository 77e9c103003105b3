"""The root file system that all images share: Debian bookworm by mmdebstrap, Java and network tools included.

In: recipes/base. Out: an archive in the cache, imported as chaoskafka/base. Works as root and, with user namespaces,
without.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from pathlib import Path

import docker

from chaoskafka.images import commands, engine
from chaoskafka.images.cache import cache_dir
from chaoskafka.images.recipe import RECIPES, Recipe

WITHIN_S = 1200.0  # about 60 s on a fast line; 150 MB of packages
MEND = "apt-get install mmdebstrap debian-archive-keyring"
REACH = "apt-get update   # shows whether Debian's archive is reached; proxies and mirrors are those of apt"
FAST = 1  # gzip level: the archive is read once, so time counts more than size


def build_base(client: docker.DockerClient, recipe: Recipe) -> None:
    """Make and import the root file system. Blocks for about a minute, seconds with a warm cache."""
    architecture = engine.architecture(client)
    archive = cache_dir("base") / f"{recipe.digest}-{architecture}.tar.gz"
    if not archive.exists():
        _make(archive, architecture)
    engine.import_root(client, recipe, archive)


def packages() -> list[str]:
    """The Debian packages of the recipe."""
    return _lines("packages.txt")


def _lines(name: str) -> list[str]:
    lines = (RECIPES / "base" / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _make(archive: Path, architecture: str) -> None:
    with tempfile.TemporaryDirectory(dir=archive.parent) as name:
        hooks = {hook: _hook(Path(name), hook) for hook in ("prepare", "finish")}
        raw, packed = Path(name) / "root.tar", Path(name) / "root.tar.gz"
        *options, suite = _lines("options.txt")
        argv = [
            "mmdebstrap",
            *options,
            f"--architectures={architecture}",
            f"--include={','.join(packages())}",
            f'--essential-hook={hooks["prepare"]} "$1"',
            f'--customize-hook={hooks["finish"]} "$1"',
            suite,
            "-",
        ]
        with raw.open("wb") as out:
            commands.run(argv, within_s=WITHIN_S, stdout=out, env=_environment(), mend=MEND, reach=REACH)
        with raw.open("rb") as plain, gzip.open(packed, "wb", compresslevel=FAST) as out_gz:
            shutil.copyfileobj(plain, out_gz, length=1 << 20)
        packed.rename(archive)


def _hook(directory: Path, name: str) -> str:
    """A copy that is executable: an installed package need not have kept the bit."""
    copy = directory / name
    shutil.copyfile(RECIPES / "base" / name, copy)
    copy.chmod(0o755)
    return str(copy)


def _environment() -> dict[str, str]:
    # Maintainer scripts run with the caller's environment; what speaks other languages or other Pythons stays outside.
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PYTHON", "JAVA"))}
    return kept | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
