"""Java on this machine: $JAVA_HOME, else the PATH, in; where it is and what it calls itself out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from chaoskafka.errors import CommandFailed, EnvironmentFailure

OLDEST = 17  # what brokers of Kafka 4 need (KIP-1013)
MEND = "sudo apt-get install openjdk-17-jre-headless   # or set JAVA_HOME to a Java 17 or newer"
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


def find_java() -> Java:
    """Blocks for a JVM's start. Raises EnvironmentFailure when there is none, or none that Kafka runs on."""
    named = os.environ.get("JAVA_HOME")
    program = str(Path(named) / "bin" / "java") if named else shutil.which("java")
    if program is None or not Path(program).exists():
        where = f"JAVA_HOME={named} has no bin/java" if named else "there is no java on the PATH"
        raise EnvironmentFailure(f"Kafka as a process needs Java {OLDEST} or newer, and {where}", mend=MEND)
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=STARTS_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise EnvironmentFailure(f"{program} cannot be started: {failed}", mend=MEND) from failed
    if done.returncode != 0:
        raise CommandFailed(f"{program} -version", done.returncode, done.stderr, mend=MEND)
    found = _MAJOR.search(done.stderr)
    if found is None or int(found[1]) < OLDEST:
        first = (done.stderr.splitlines() or ["nothing"])[0]
        raise EnvironmentFailure(f"Kafka needs Java {OLDEST} or newer, and {program} says {first!r}", mend=MEND)
    return Java(home=Path(program).resolve().parents[1], banner=done.stderr.strip())
