"""`python -m chaoskafka.images build [VERSION] | current [VERSION] | home [--look] | list | lock VERSION …`.

`current` answers with its exit code: 0 nothing to build, 1 something, 3 no engine. `home` sets Kafka up for runs
without an engine; with `--look` it only says by its exit code whether that was done (0) or not (1). `lock` is for
maintainers: it resolves a Kafka release and writes the lock file that builds are held against.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from chaoskafka.cluster.versions import DEFAULT
from chaoskafka.errors import ChaosKafkaError
from chaoskafka.images.build import are_current, ensure, listed
from chaoskafka.images.commands import sha256_of
from chaoskafka.images.home import is_made, kafka_home
from chaoskafka.images.kafka import fetch_jars
from chaoskafka.images.recipe import lock_file


def main() -> int:
    """Returns the exit code; errors raised on purpose are printed, not thrown."""
    parser = argparse.ArgumentParser(prog="python -m chaoskafka.images", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build").add_argument("version", nargs="?", default=DEFAULT)
    commands.add_parser("current").add_argument("version", nargs="?", default=DEFAULT)
    commands.add_parser("home").add_argument("--look", action="store_true")
    commands.add_parser("list")
    lock = commands.add_parser("lock")
    lock.add_argument("version")
    lock.add_argument("--log4j", required=True)
    lock.add_argument("--jackson", required=True)
    given = parser.parse_args()
    try:
        if given.command == "build":
            ensure(given.version, report=_say)
        elif given.command == "current":
            return 0 if are_current(given.version) else 1
        elif given.command == "home":
            return _home(only_look=given.look)
        elif given.command == "list":
            for name, image, size_bytes in listed():
                _say(f"{name:32} {image:20} {size_bytes / 1e6:6.0f} MB")
        else:
            write_lock(given.version, given.log4j, given.jackson)
    except ChaosKafkaError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    return 0


def _home(*, only_look: bool) -> int:
    if only_look:
        return 0 if is_made(DEFAULT) else 1
    kafka_home(DEFAULT, report=_say)
    return 0


def write_lock(kafka: str, log4j: str, jackson: str) -> None:
    """Resolve a release as it is now and write its lock file. Blocks. Raises CommandFailed if Maven fails."""
    with tempfile.TemporaryDirectory() as directory:
        jars = {jar.name: sha256_of(jar) for jar in fetch_jars(kafka, log4j, jackson, into=Path(directory))}
    lines = [
        f'kafka = "{kafka}"',
        f'log4j = "{log4j}"',
        f'jackson = "{jackson}"',
        "",
        "[jars]",
        *(f'"{name}" = "{digest}"' for name, digest in sorted(jars.items())),
    ]
    lock_file(kafka).write_text("\n".join(lines) + "\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
