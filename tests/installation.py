"""chaoskafka as a user has it: built into a wheel, installed in an environment of its own, called from elsewhere.

Nothing is fetched: the build backend is the locked one that stands beside the tests, and the environment sees the
locked packages through links, all but those that a test leaves out. So what was left out is truly not installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ("chaoskafka", "scenarios", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml")
CLIENTS_AND_ENGINE = ("confluent_kafka", "docker", "testcontainers", "kio")
_OURS = ("chaoskafka", "__editable__", "distutils-precedence.pth")
_BUILD_S = 120
_CALL_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An environment with an installed wheel, a home, and a place to call it from; none of them in the clone."""

    python: Path
    home: Path
    elsewhere: Path

    def call(self, *words: str, within_s: float = _CALL_S) -> tuple[int, str, str]:
        """Run the installed command as it is found in the environment. Returns exit code, stdout, stderr."""
        return self.run(str(self.python.parent / "chaoskafka"), *words, within_s=within_s)

    def run(self, *argv: str, within_s: float = _CALL_S) -> tuple[int, str, str]:
        """Run anything with nothing of our environment but where the engine is."""
        env = {name: value for name, value in os.environ.items() if name in ("PATH", "DOCKER_HOST", "LANG")}
        done = subprocess.run(
            argv,
            cwd=self.elsewhere,
            env={**env, "HOME": str(self.home)},
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr


def build(into: Path) -> tuple[Path, Path]:
    """Build as an index would get it: sdist from a copy of the sources, wheel from that sdist. Returns both."""
    tree = into / "sources"
    tree.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, symlinks=True)
        else:
            shutil.copy2(source, tree / name)
    uv = [str(Path(sys.executable).with_name("uv")), "build", "--offline", "--no-build-isolation"]
    subprocess.run(
        [*uv, "--python", sys.executable, "--out-dir", str(into / "dist"), str(tree)],
        capture_output=True,
        timeout=_BUILD_S,
        check=True,
    )
    (sdist,), (wheel,) = (into / "dist").glob("*.tar.gz"), (into / "dist").glob("*.whl")
    return sdist, wheel


def install(wheel: Path, into: Path, *, without: tuple[str, ...] = ()) -> Installation:
    """Install in a new environment; top-level packages named in `without` are not installed there."""
    environment = into / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    subprocess.run(
        [Path(sys.executable).with_name("uv"), "pip", "install", "--offline", "--no-deps", "--python", python, wheel],
        capture_output=True,
        timeout=_BUILD_S,
        check=True,
    )
    packages = into / "packages"
    packages.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        # confluent_kafka, confluent_kafka.libs and confluent_kafka-2.16.1.dist-info are one package.
        name = entry.name.partition("-")[0].partition(".")[0]
        if not entry.name.startswith(_OURS) and name not in without:
            (packages / entry.name).symlink_to(entry)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "locked.pth").write_text(f"{packages}\n")
    home, elsewhere = into / "home", into / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    return Installation(python=python, home=home, elsewhere=elsewhere)
