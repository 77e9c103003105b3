"""The Kafka image: jars by Maven, held against the release's lock, plus our scripts in the official image's layout.

In: recipes/kafka. Out: chaoskafka/kafka:VERSION-HASH. Jars are kept in the cache by their SHA-256; with all of them
there, neither Maven nor a network is needed.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import docker

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import commands
from chaoskafka.images.cache import cache_dir
from chaoskafka.images.layers import OWNER, Layer, build_image
from chaoskafka.images.recipe import RECIPES, KafkaLock, Recipe, kafka_lock

COPY_DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
WITHIN_S = 1200.0  # about 30 s on a fast line; 100 MB of jars and Maven's own plugins
MEND = "apt-get install maven openjdk-17-jre-headless"
REACH = (
    "name a proxy or mirror in ~/.m2/settings.xml, and try: mvn dependency:get -Dartifact=org.slf4j:slf4j-api:2.0.17"
)

TOOLS = {  # script -> main class, where the newest release has it
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-configs": "org.apache.kafka.tools.ConfigCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
}
IN_THE_CORE = {  # the same in releases that have not moved it out of the core yet
    "org.apache.kafka.tools.ConfigCommand": "kafka.admin.ConfigCommand",
    "org.apache.kafka.tools.DumpLogSegments": "kafka.tools.DumpLogSegments",
}
CONFIGS = ("log4j2.yaml", "tools-log4j2.yaml", "server.properties")


def build_kafka(client: docker.DockerClient, recipe: Recipe, *, on: str, version: str) -> None:
    """Fetch what is missing and build. Blocks: about a minute, 25 s with the jars in the cache.

    Raises EnvironmentFailure naming the jar if one differs from the lock, CommandFailed if Maven fails.
    """
    lock = kafka_lock(version)
    jars = locked_jars(lock)
    with tempfile.TemporaryDirectory(dir=cache_dir()) as name:
        layer = Path(name) / "layer.tar"
        with layer.open("wb") as file:
            _write(Layer(file), jars)
        build_image(
            client,
            recipe,
            on=on,
            layer=layer,
            instructions=[
                f"ENV KAFKA_VERSION={lock.kafka}",  # not a setting: Kafka's own wrapper leaves it out
                "EXPOSE 9092",
                "USER appuser",
                "RUN /etc/kafka/docker/record",
                'CMD ["/etc/kafka/docker/run"]',
            ],
        )


def locked_jars(lock: KafkaLock) -> dict[str, Path]:
    """Every jar of the lock by file name, from the cache or by Maven. Blocks. Raises as `build_kafka` does."""
    kept = {name: cache_dir("jars", digest) / name for name, digest in lock.jars.items()}
    if not all(path.exists() and commands.sha256_of(path) == lock.jars[name] for name, path in kept.items()):
        with tempfile.TemporaryDirectory(dir=cache_dir()) as directory:
            fetched = fetch_jars(lock.kafka, lock.log4j, lock.jackson, into=Path(directory))
            _compare(lock, {path.name: commands.sha256_of(path) for path in fetched})
            for path in fetched:
                shutil.move(path, kept[path.name])
    return kept


def fetch_jars(kafka: str, log4j: str, jackson: str, *, into: Path) -> list[Path]:
    """Have Maven copy what a release needs into a directory, without looking at any lock. Blocks."""
    pom = shutil.copyfile(RECIPES / "kafka" / "pom.xml", into / "pom.xml")
    argv = [
        "mvn",
        "--batch-mode",
        "--quiet",
        "--no-transfer-progress",
        f"--file={pom}",
        f"-Dkafka.version={kafka}",
        f"-Dlog4j.version={log4j}",
        f"-Djackson.version={jackson}",
        f"-DoutputDirectory={into / 'libs'}",
        "-DincludeScope=runtime",
        COPY_DEPENDENCIES,
    ]
    commands.run(argv, within_s=WITHIN_S, mend=MEND, reach=REACH)
    return sorted((into / "libs").glob("*.jar"))


def _compare(lock: KafkaLock, found: dict[str, str]) -> None:
    problems = [
        *(f"{name} is missing" for name in sorted(lock.jars.keys() - found.keys())),
        *(f"{name} is not in the lock" for name in sorted(found.keys() - lock.jars.keys())),
        *(
            f"{name} has SHA-256 {found[name]}, the lock says {lock.jars[name]}"
            for name in sorted(lock.jars.keys() & found.keys())
            if lock.jars[name] != found[name]
        ),
    ]
    if problems:
        raise EnvironmentFailure(
            f"the jars of Kafka {lock.kafka} are not those of its lock file: " + "; ".join(problems)
        )


def _write(layer: Layer, jars: dict[str, Path]) -> None:
    lay_out(layer, jars)
    for name, path in sorted(jars.items()):
        layer.file(f"opt/kafka/libs/{name}", path, owner=OWNER)
    layer.close()


def lay_out(layer: Layer, jars: dict[str, Path]) -> None:
    """Everything of the official image's layout but the jars themselves. Raises as `tools` does."""
    root = RECIPES / "kafka" / "root"
    layer.tree("etc", root / "etc")
    for directory in (
        "opt/kafka",
        "opt/kafka/bin",
        "opt/kafka/cds",
        "opt/kafka/config",
        "opt/kafka/libs",
        "opt/kafka/logs",
        "opt/kafka/template",
    ):
        layer.directory(directory, owner=OWNER)
    layer.tree("opt/kafka/bin", root / "opt" / "kafka" / "bin", owner=OWNER)
    for tool, main_class in tools(jars.values()).items():
        layer.text(f"opt/kafka/bin/{tool}.sh", _script(main_class), owner=OWNER, mode=0o755)
    for name in CONFIGS:
        layer.file(f"opt/kafka/config/{name}", root / "etc" / "kafka" / "docker" / name, owner=OWNER)
    # A fresh named volume takes owner and mode from the directory it is mounted on.
    for directory in ("etc/kafka/secrets", "mnt/shared/config", "var/lib/kafka/data", "usr/logs"):
        layer.directory(directory, owner=OWNER)


def tools(jars: Iterable[Path]) -> dict[str, str]:
    """Script -> main class, as these jars have it. Raises EnvironmentFailure, naming the class that none has."""
    have: set[str] = set()
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            have.update(archive.namelist())
    found = {
        tool: next((c for c in (name, IN_THE_CORE.get(name, name)) if f"{c.replace('.', '/')}.class" in have), None)
        for tool, name in TOOLS.items()
    }
    if lacking := sorted(TOOLS[tool] for tool, main_class in found.items() if main_class is None):
        raise EnvironmentFailure(f"the jars have no class {', '.join(lacking)}")
    return {tool: main_class for tool, main_class in found.items() if main_class is not None}


def _script(main_class: str) -> str:
    return f'#!/usr/bin/env bash\nexec "$(dirname "$0")/kafka-run-class.sh" {main_class} "$@"\n'
