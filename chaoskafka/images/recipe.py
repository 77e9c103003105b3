"""Recipes: which images there are, what each is made of, and a hash of all that. Pure but for reading package files."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from chaoskafka import __version__
from chaoskafka.errors import EnvironmentFailure

RECIPES = Path(__file__).parent / "recipes"
REPOSITORY = "chaoskafka"
KIND_LABEL = "chaoskafka.image"  # never `chaoskafka.run`: that one marks what a run leaves behind
RECIPE_LABEL = "chaoskafka.recipe"
DIGITS = 16  # of the recipe's hash; the label is compared, so a collision would need an attacker among our own files
TAG_DIGITS = 8  # of them in the tag: enough to tell recipes apart, short enough to be read


class Kind(StrEnum):
    """The images, in the order in which they can be built."""

    BASE = "base"
    KAFKA = "kafka"
    TOOLBOX = "toolbox"
    CLIENT = "client"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSet:
    """Names of the images that one cluster needs, as the engine takes them."""

    kafka: str
    toolbox: str
    client: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What an image is to be: its name in the engine, and the hash that a current one carries as a label.

    The name ends in the hash: checkouts with different recipes share an engine and never build over each other.
    """

    kind: Kind
    name: str
    digest: str

    @property
    def labels(self) -> dict[str, str]:
        return {KIND_LABEL: self.kind.value, RECIPE_LABEL: self.digest}


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaLock:
    """One Kafka release: versions to resolve, and the SHA-256 of every jar that must come out of it."""

    kafka: str
    log4j: str
    jackson: str
    jars: dict[str, str]


def lock_file(version: str) -> Path:
    """Where the lock of a Kafka release is; it need not exist."""
    return RECIPES / "kafka" / f"{version}.toml"


def kafka_versions() -> tuple[str, ...]:
    """The Kafka releases that can be built: those with a lock file."""
    return tuple(sorted(path.stem for path in (RECIPES / "kafka").glob("*.toml")))


def kafka_lock(version: str) -> KafkaLock:
    """The lock of a release. Raises EnvironmentFailure, naming those there are, if it has none."""
    path = lock_file(version)
    if not path.exists():
        known = ", ".join(kafka_versions())
        raise EnvironmentFailure(
            f"Kafka {version} has no lock file, so its image cannot be built; there are {known}",
            mend=f"python -m chaoskafka.images lock {version} --log4j VERSION --jackson VERSION",
        )
    return KafkaLock(**tomllib.loads(path.read_text()))


def recipe_of(kind: Kind, kafka_version: str = "") -> Recipe:
    """The recipe of an image; `kafka_version` counts for kafka alone. Raises EnvironmentFailure for an unknown one."""
    if kind is Kind.KAFKA:
        kafka_lock(kafka_version)
    version, digest = kafka_version if kind is Kind.KAFKA else __version__, _digest(kind, kafka_version)
    return Recipe(kind=kind, name=f"{REPOSITORY}/{kind}:{version}-{digest[:TAG_DIGITS]}", digest=digest)


def current_names() -> frozenset[str]:
    """The names of all images that this checkout's recipes can make."""
    kafkas = [recipe_of(Kind.KAFKA, version) for version in kafka_versions()]
    return frozenset(each.name for each in [*kafkas, *(recipe_of(kind) for kind in Kind if kind is not Kind.KAFKA)])


@cache
def _digest(kind: Kind, kafka_version: str) -> str:
    """Covers the recipe's own files, the code that follows it, and what it stands on."""
    code = [Path(__file__).parent / name for name in _CODE[kind]]
    if kind is Kind.BASE:
        parts = ["", *_files(RECIPES / "base")]
    elif kind is Kind.TOOLBOX:
        parts = [_digest(Kind.BASE, "")]
    elif kind is Kind.CLIENT:
        parts = [_digest(Kind.BASE, ""), *_files(RECIPES / "client")]
    else:
        root = RECIPES / "kafka" / "root"
        parts = [
            _digest(Kind.BASE, ""),
            *_files(root),
            *_described([RECIPES / "kafka" / "pom.xml", lock_file(kafka_version)]),
        ]
    whole = "\n".join([kind, *parts, *_described(code)])
    return hashlib.sha256(whole.encode()).hexdigest()[:DIGITS]


_CODE = {
    Kind.BASE: (),  # its recipe is all data, and takes the longest to follow
    Kind.KAFKA: ("kafka.py", "layers.py"),
    Kind.TOOLBOX: ("layers.py",),
    Kind.CLIENT: ("client.py", "layers.py"),
}


def _files(root: Path) -> list[str]:
    return _described(sorted(path for path in root.rglob("*") if path.is_file()))


def _described(paths: Iterable[Path]) -> list[str]:
    """One line a file: where, and a hash of what. Modes are set while building, so a checkout's do not matter."""
    base = Path(__file__).parent
    return [f"{path.relative_to(base).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in paths]
