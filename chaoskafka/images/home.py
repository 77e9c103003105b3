"""Kafka as files on this machine, for running it without an engine: the tree that the image holds, at another root.

In: a release; Java; jars as the image's come, or those of $KAFKA_HOME. Out: a directory below the user's cache with the
image's own scripts, what it records while it is built (class data, formatted disks), and the jars by links. Made once;
its name ends in a hash of all that it is made from. Safe to delete at any time, as all of the cache is.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chaoskafka.clock import UNSTOPPABLE, Clock
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import commands
from chaoskafka.images.cache import build_lock, cache_dir
from chaoskafka.images.java import Java, find_java
from chaoskafka.images.kafka import lay_out, locked_jars
from chaoskafka.images.layers import Layer
from chaoskafka.images.recipe import DIGITS, Kind, kafka_lock, recipe_of
from chaoskafka.runtimes.process.control import why_no_namespaces

Report = Callable[[str], None]

JARS = "KAFKA_HOME"  # the variable that names a Kafka distribution to take the jars of
RECORD_S = 600.0  # four JVMs one after the other: 10 s here, on a starved machine ten times that
UNSHARE = ("unshare", "--user", "--map-root-user", "--net")  # recording starts a broker on ports that may be taken here
MEND_UNSHARE = "chaoskafka doctor   # says what the process runtime lacks here"
USUAL = "127.0.0.1"  # where the image's script records

_DONE = ".complete"  # what was cut short while it was made has none
_CLIENTS_JAR = re.compile(r"kafka-clients-(\d+\.\d+\.\d+)\.jar")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaHome:
    """`root`: the image's tree. `kafka`: the release of its jars."""

    root: Path
    java: Java
    kafka: str
    jars_from: str  # for people: "Maven", or the directory


def kafka_home(release: str, report: Report = lambda _: None, *, clock: Clock = UNSTOPPABLE) -> KafkaHome:
    """Make what is missing. Blocks: some 15 s the first time, and as long as Maven takes for 100 MB of jars.

    Raises EnvironmentFailure without Java 17, without Maven where jars are missing, and for a $KAFKA_HOME that holds
    another line of Kafka than `release`; CommandFailed; Interrupted.
    """
    java, given = find_java(), os.environ.get(JARS)
    given_jars = given_by(Path(given), release) if given else None
    root = _root(release, java, given_jars)
    if re.search(r"\s", str(root)):
        raise EnvironmentFailure(f"{root}: Kafka's scripts bear no blanks in a path", mend="export XDG_CACHE_HOME=/…")
    if not (root / _DONE).exists():
        with build_lock(report, clock=clock):
            if not (root / _DONE).exists():  # asked again: somebody else may have made it meanwhile
                report(f"setting up Kafka {release} in {root} (once)")
                _make(root, given_jars or locked_jars(kafka_lock(release)), java)
    return KafkaHome(
        root=root, java=java, kafka=_version(given_jars) if given_jars else release, jars_from=given or "Maven"
    )


def is_made(release: str) -> bool:
    """Whether `kafka_home` would have nothing to do. Blocks for a JVM's start. Raises as it does."""
    given = os.environ.get(JARS)
    return (_root(release, find_java(), given_by(Path(given), release) if given else None) / _DONE).exists()


def is_fetched(release: str) -> bool:
    """Whether `kafka_home` would have nothing to fetch. Raises EnvironmentFailure for a $KAFKA_HOME of another line."""
    if given := os.environ.get(JARS):
        return bool(given_by(Path(given), release))
    return all((cache_dir("jars", digest) / name).exists() for name, digest in kafka_lock(release).jars.items())


def given_by(directory: Path, release: str) -> dict[str, Path]:
    """The jars of a Kafka distribution by file name. Raises EnvironmentFailure for another line than `release`'s."""
    jars = {path.name: path.absolute() for path in sorted((directory / "libs").glob("*.jar"))}
    found, mend = _version(jars), f"unset {JARS}   # the jars of {release} are fetched then"
    if not found:
        raise EnvironmentFailure(f"{JARS}={directory}: no libs/kafka-clients-VERSION.jar there", mend=mend)
    if found.split(".")[:2] != release.split(".")[:2]:
        raise EnvironmentFailure(
            f"{JARS}={directory} holds Kafka {found}, and the scenario is for {release}", mend=mend
        )
    return jars


def _root(release: str, java: Java, given: dict[str, Path] | None) -> Path:
    made_from = [recipe_of(Kind.KAFKA, release).digest, java.banner, *(map(str, (given or {}).values()))]
    digest = hashlib.sha256("\n".join(made_from).encode()).hexdigest()[:DIGITS]
    return cache_dir("homes") / f"{release}-{digest}"


def _version(jars: dict[str, Path]) -> str:
    return next((match[1] for name in jars if (match := _CLIENTS_JAR.fullmatch(name))), "")


def _make(root: Path, jars: dict[str, Path], java: Java) -> None:
    """In place: class data are found again only for jars of the very same paths."""
    if root.exists():
        shutil.rmtree(root)
    root.mkdir(parents=True)
    packed = io.BytesIO()
    layer = Layer(packed)
    lay_out(layer, jars)
    layer.close()
    packed.seek(0)
    _unpack(packed, root)
    for name, path in jars.items():
        (root / "opt" / "kafka" / "libs" / name).symlink_to(path)
    record = root / "etc" / "kafka" / "docker" / "record"
    environment = {**bare_environment(java), "CHAOSKAFKA_ROOT": str(root), **_shared(root, java)}
    argv = [*UNSHARE, "sh", "-c", 'ip link set lo up && exec "$0"', str(record)]
    if why_no_namespaces():  # its ports are free at an address that nobody else uses
        argv = ["bash", "-c", record.read_text().replace(USUAL, _own_address())]
    commands.run(argv, within_s=RECORD_S, env=environment, mend=MEND_UNSHARE)
    (root / _DONE).touch()


def _own_address() -> str:
    """On the loopback, of this process; runs take others (runtimes/process/layout.py)."""
    third, fourth = divmod(os.getpid() % (1 << 16), 1 << 8)
    return f"127.254.{third}.{fourth}"


def _shared(root: Path, java: Java) -> dict[str, str]:
    """What recording needs so that it can add Kafka's classes to Java's own. Blocks where those are archived first.

    Archives of Kafka's classes name the one that they stand on, so afterwards nobody needs to be told of it.
    """
    if java.shares_classes:
        return {}
    option = f"-XX:SharedArchiveFile={root / 'opt' / 'kafka' / 'cds' / 'java.jsa'}"
    commands.run([str(java.home / "bin" / "java"), "-Xshare:dump", option], within_s=RECORD_S)
    return {"KAFKA_OPTS": option}


def _unpack(packed: io.BytesIO, root: Path) -> None:
    """Everything becomes ours, whoever owns it in the image."""
    with tarfile.open(fileobj=packed) as tar:
        for entry in tar:
            target = root / entry.name
            content = tar.extractfile(entry)
            if content is None:
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
                target.chmod(entry.mode)


def bare_environment(java: Java) -> dict[str, str]:
    """What every process of Kafka has around it: nothing of ours, as every KAFKA_… would be a setting."""
    sbin = "/usr/local/sbin:/usr/sbin:/sbin"  # ip and nft; not on everybody's PATH
    return {
        "PATH": f"{java.home}/bin:{os.environ.get('PATH', '/usr/bin:/bin')}:{sbin}",
        "JAVA_HOME": str(java.home),
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
    }
