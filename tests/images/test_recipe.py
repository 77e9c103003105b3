"""Recipes: what makes an image stale, and that the locks agree with each other."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.versions import DEFAULT, RELEASES
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import Kind, kafka_versions, recipe_of
from chaoskafka.images.recipe import KIND_LABEL, RECIPE_LABEL, RECIPES, current_names, kafka_lock, lock_file

PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def test_every_supported_release_can_be_built_and_no_other() -> None:
    assert ClusterSpec().release in RELEASES
    assert kafka_versions() == RELEASES


@pytest.mark.parametrize("version", kafka_versions())
def test_a_lock_names_the_jars_that_a_node_starts_from(version: str) -> None:
    lock = kafka_lock(version)
    assert lock.kafka == version
    assert {f"kafka_2.13-{version}.jar", f"kafka-tools-{version}.jar", f"log4j-slf4j-impl-{lock.log4j}.jar"} <= set(
        lock.jars
    )
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in lock.jars.values())
    # SLF4J 1.7 finds log4j-slf4j-impl alone; the binding for SLF4J 2 would leave Kafka without a log.
    assert not [jar for jar in lock.jars if jar.startswith("log4j-slf4j2")]


def test_an_unknown_release_says_which_there_are_and_what_to_type() -> None:
    with pytest.raises(EnvironmentFailure, match=r"9\.9\.9 has no lock file.*4\.0\.2") as caught:
        recipe_of(Kind.KAFKA, "9.9.9")
    assert "lock 9.9.9" in str(caught.value.mend)


def test_names_and_labels() -> None:
    kafka = recipe_of(Kind.KAFKA, DEFAULT)
    # Checkouts with different recipes share an engine: neither may take or replace the other's image.
    assert kafka.name == f"chaoskafka/kafka:{DEFAULT}-{kafka.digest[:8]}"
    assert {recipe_of(kind, DEFAULT).name for kind in Kind} <= current_names()
    assert kafka.labels == {KIND_LABEL: "kafka", RECIPE_LABEL: kafka.digest}
    assert len({recipe_of(kind, DEFAULT).digest for kind in Kind}) == len(Kind)


def test_a_client_has_the_same_packages_as_the_project() -> None:
    project = pinned(Path(__file__).parents[2] / "requirements.lock")
    client = pinned(RECIPES / "client" / "requirements.lock")
    assert {"confluent-kafka", "kio", "numpy", "tenacity"} <= set(client)
    assert client == {name: project[name] for name in client}


def test_the_lock_gives_what_the_project_asks_for() -> None:
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    locked = pinned(root / "requirements.lock")
    for asked in map(Requirement, [*project["dependencies"], *project["optional-dependencies"]["dev"]]):
        assert locked[canonicalize_name(asked.name)] in asked.specifier, f"{asked}: run make lock"


def test_locks_name_no_archive() -> None:
    for path in (Path(__file__).parents[2] / "requirements.lock", RECIPES / "client" / "requirements.lock"):
        assert "://" not in path.read_text()


def test_a_lock_is_readable_toml() -> None:
    assert set(tomllib.loads(lock_file(DEFAULT).read_text())) == {"kafka", "log4j", "jackson", "jars"}


def pinned(path: Path) -> dict[str, str]:
    return dict(PINNED.findall(path.read_text()))
