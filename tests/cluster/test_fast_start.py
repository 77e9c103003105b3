"""A node set up from the image's template is the node that Kafka's own wrapper would have made, in every release."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.config import LOG_DIR, environment, variable
from chaoskafka.cluster.spec import ClusterSpec, Timeouts
from chaoskafka.cluster.versions import DEFAULT, RELEASES
from chaoskafka.cluster.views import parse_uuid
from chaoskafka.cluster.wire.batches import Batch, records, split
from chaoskafka.images import ensure, open_engine

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

DOCS = Path(__file__).parents[2] / "docs" / "versions.md"
EVERY_CHANGE = {DEFAULT, RELEASES[-1]}
START_S = 180.0  # seconds on an idle machine
CONFIG = "/opt/kafka/config"
LEFT = 7  # the code with which a script says that the template is for others
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
HOST = Address("127.0.0.1", 40001)

PREPARED = ". /etc/kafka/docker/bash-config; . /etc/kafka/docker/configureDefaults; . /etc/kafka/docker/configure\n"
FROM_TEMPLATE = PREPARED + f". /etc/kafka/docker/template; set_up_from_template {CONFIG} || exit {LEFT}"
BY_WRAPPER = PREPARED + (
    "/opt/kafka/bin/kafka-run-class.sh kafka.docker.KafkaDockerWrapper setup --default-configs-dir /etc/kafka/docker"
    f" --mounted-configs-dir /mnt/shared/config --final-configs-dir {CONFIG}"
)
CLEAR = f"rm -rf {LOG_DIR} {CONFIG}/server.properties; cp /etc/kafka/docker/*.yaml {CONFIG}/"

COMBINED = ClusterSpec(nodes=3, timeouts=Timeouts.FAST, config={"message.max.bytes": "2000000"})
ISOLATED = ClusterSpec(controllers=1, brokers=2)
NODES = {
    "combined": (COMBINED, COMBINED.members[2], HOST),
    "broker": (ISOLATED, ISOLATED.members[0], HOST),
    "controller": (ISOLATED, ISOLATED.members[-1], None),
}
AWKWARD = {  # as in test_environment, and what looks like a setting but is none
    **{variable(key): "a=b#c \\ x" for key in ("a-b.c", "a_b-c.d", "x--y", "listener.name.clients.ssl.key.password")},
    "KAFKA_A____B": "four",
    "KAFKA_A_____B": "five",
    "KAFKA__A": "begins with it",
    "KAFKA_A_": "ends with it",
    "KAFKA_EMPTY": "",
    "KAFKA_JMX_PORT": "9999",
    "KAFKA_OPTS": "-Dx=y",
    "KAFKA_JMX_HOSTNAME": "here",
}


@dataclass(frozen=True, slots=True)
class Disk:
    """What a set-up left: type, mode, owner and content of every file, by path."""

    files: Mapping[str, tuple[bytes, int, int, int, bytes]]

    def raw(self, path: str) -> bytes:
        return self.files[path][-1]

    def properties(self, path: str) -> dict[str, str]:
        lines = [line for line in self.raw(path).decode().splitlines() if line and not line.startswith("#")]
        found = dict(line.split("=", 1) for line in lines)
        assert len(found) == len(lines)
        return found


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    engine = open_engine()
    yield engine
    engine.close()


@pytest.fixture(
    scope="module",
    params=[pytest.param(v, marks=[] if v in EVERY_CHANGE else pytest.mark.nightly) for v in RELEASES],
)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def image(release: str, client: docker.DockerClient) -> str:
    return ensure(release, client=client).kafka


@pytest.fixture(scope="module")
def place(image: str, client: docker.DockerClient) -> Iterator[Container]:
    """A container of the image in which nothing runs yet."""
    container = client.containers.create(
        image,
        ["sleep", "infinity"],
        network_mode="none",
        hostname="localhost",
    )
    try:
        container.start()
        yield container
    finally:
        container.remove(force=True, v=True)


def run_in(place: Container, script: str, variables: Mapping[str, str] | None = None) -> tuple[int, str]:
    done = place.exec_run(["bash", "-c", script], environment=dict(variables or {}))
    assert isinstance(done.output, bytes)
    return int(done.exit_code or 0), done.output.decode()


def set_up(place: Container, script: str, variables: Mapping[str, str]) -> Disk:
    assert run_in(place, CLEAR)[0] == 0
    code, output = run_in(place, script, variables)
    assert code == 0, output
    return Disk({**files_below(place, CONFIG), **files_below(place, LOG_DIR)})


def files_below(place: Container, root: str) -> dict[str, tuple[bytes, int, int, int, bytes]]:
    """As `Disk` has them. Through an archive: what a short command prints is sometimes lost on its way."""
    content, _ = place.get_archive(root)
    with tarfile.open(fileobj=io.BytesIO(b"".join(content))) as tar:
        found = [(entry, tar.extractfile(entry)) for entry in tar]
        return {
            f"{root.rpartition('/')[0]}/{entry.name}": (
                entry.type,
                entry.mode,
                entry.uid,
                entry.gid,
                file.read() if file else b"",
            )
            for entry, file in found
        }


def variables_of(node: str) -> dict[str, str]:
    spec, member, address = NODES[node]
    return environment(spec, member, address, cluster_id=CLUSTER)


def batches(snapshot: bytes) -> list[Batch]:
    """The batches of a metadata snapshot, every field and byte of them, but for the times."""
    header, *others = [replace(batch, base_timestamp_ms=0, max_timestamp_ms=0) for batch in split(snapshot)]
    ((_, _, _, value),) = records(header)  # SnapshotHeaderRecord: version, time of the last record that it stands for
    assert value is not None
    assert header.body.count(value) == 1
    return [replace(header, body=header.body.replace(value, value[:2] + bytes(8) + value[10:])), *others]


@pytest.mark.parametrize("node", NODES)
def test_the_template_makes_the_files_that_the_wrapper_makes(place: Container, node: str) -> None:
    variables = variables_of(node)
    ours, theirs = (set_up(place, script, variables) for script in (FROM_TEMPLATE, BY_WRAPPER))
    assert {path: facts[:-1] for path, facts in ours.files.items()} == {
        path: facts[:-1] for path, facts in theirs.files.items()
    }
    server = f"{CONFIG}/server.properties"
    assert ours.properties(server) == theirs.properties(server)
    assert len(ours.properties(server)) > 10
    for name in ("log4j2.yaml", "tools-log4j2.yaml"):
        assert ours.raw(f"{CONFIG}/{name}") == theirs.raw(f"{CONFIG}/{name}")

    meta = f"{LOG_DIR}/meta.properties"
    mine, wrapped = ours.properties(meta), theirs.properties(meta)
    directories = [found.pop("directory.id") for found in (mine, wrapped)]
    assert len({parse_uuid(directory) for directory in directories}) == 2
    assert not [directory for directory in directories if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", directory)]
    assert mine == wrapped == {"version": "1", "cluster.id": CLUSTER, "node.id": variables["KAFKA_NODE_ID"]}

    snapshots = [path for path in ours.files if path.endswith(".checkpoint")]
    assert snapshots or node == "broker", "what a controller starts from"
    for path in snapshots:
        assert batches(ours.raw(path)) == batches(theirs.raw(path))
        assert len(batches(ours.raw(path))) == 3, "header, features, footer"
        assert len(ours.raw(path)) == len(theirs.raw(path))
    known = {server, meta, *snapshots, *(f"{CONFIG}/{name}" for name in ("log4j2.yaml", "tools-log4j2.yaml"))}
    assert {path for path in theirs.files if path.startswith(LOG_DIR) and theirs.raw(path)} <= known


def test_awkward_names_and_values_are_written_alike(place: Container) -> None:
    variables = {**variables_of("combined"), **AWKWARD}
    ours, theirs = (set_up(place, script, variables) for script in (FROM_TEMPLATE, BY_WRAPPER))
    server = f"{CONFIG}/server.properties"
    assert ours.properties(server) == theirs.properties(server)
    assert ours.properties(server)["x--y"] == AWKWARD["KAFKA_X______Y"]


@pytest.mark.parametrize(
    "changed",
    [
        {"KAFKA_CONTROLLER_QUORUM_VOTERS": "", "KAFKA_CONTROLLER_QUORUM_BOOTSTRAP_SERVERS": "node-1:9093"},
        {"KAFKA_UNSTABLE_FEATURE_VERSIONS_ENABLE": "true"},
        {"KAFKA_METADATA_LOG_DIR": f"{LOG_DIR}/metadata"},
        {"KAFKA_LOG_DIRS": f"{LOG_DIR},{LOG_DIR}-2"},
        {"KAFKA_LOG4J_LOGGERS": "kafka=DEBUG"},
        {"KAFKA_LOG4J_ROOT_LOGLEVEL": "DEBUG"},
        {"KAFKA_NODE_ID": "one"},
        {"CLUSTER_ID": "short"},
        {"KAFKA_lower": "case"},
        {"KAFKA_TWO_LINES": "a\nb"},
    ],
    ids=",".join,
)
def test_what_is_not_ordinary_is_left_to_the_wrapper(place: Container, changed: dict[str, str]) -> None:
    assert run_in(place, CLEAR)[0] == 0
    assert run_in(place, FROM_TEMPLATE, {**variables_of("combined"), **changed})[0] == LEFT
    assert run_in(place, f"test -e {LOG_DIR} -o -e {CONFIG}/server.properties")[0] == 1


def test_a_disk_with_something_on_it_is_left_to_the_wrapper(place: Container) -> None:
    assert run_in(place, f"{CLEAR}; mkdir -p {LOG_DIR}; touch {LOG_DIR}/something")[0] == 0
    assert run_in(place, FROM_TEMPLATE, variables_of("combined"))[0] == LEFT


def features(client: docker.DockerClient, image: str, **more: str) -> dict[str, str]:
    """The finalized levels that `kafka-features describe` names on a node that the image started."""
    single = ClusterSpec(nodes=1)
    variables = environment(single, single.members[0], None, cluster_id=CLUSTER)
    container = client.containers.create(
        image,
        environment={**variables, **more},
        network_mode="none",
        hostname="node-1",
        extra_hosts={"node-1": "127.0.0.1"},
    )
    try:
        container.start()
        wait_until(
            "Kafka to start",
            read=lambda: container.logs().decode(),
            good=lambda log: "Kafka Server started" in log,
            within_s=START_S,
        )
        tool = "/opt/kafka/bin/kafka-features.sh --bootstrap-server node-1:9092 describe >/tmp/features 2>&1"
        code, _ = run_in(container, tool)
        output = files_below(container, "/tmp/features")["/tmp/features"][-1].decode()
        found = dict(re.findall(r"^Feature: (\S+).*\bFinalizedVersionLevel: (\S+)", output, re.MULTILINE))
        assert code == 0, output
        assert found, output
        return found
    finally:
        container.remove(force=True, v=True)


# The template's metadata, features and all, is compared with Kafka's own for more releases, above.
@pytest.mark.parametrize(
    "release",
    [pytest.param(version, marks=[] if version == DEFAULT else pytest.mark.nightly) for version in RELEASES],
    indirect=True,
)
def test_a_cluster_has_the_features_that_kafkas_own_format_gives(
    client: docker.DockerClient, image: str, release: str
) -> None:
    # Another logger than a run's: the template is for others, so this node's disk is formatted by Kafka itself.
    theirs = features(client, image, KAFKA_LOG4J_LOGGERS="state.change.logger=INFO")
    assert features(client, image) == theirs
    assert theirs == documented(release)


def documented(release: str) -> dict[str, str]:
    """What docs/versions.md says of a release's features; 0 stands for one that is off."""
    lines = [line for line in DOCS.read_text().splitlines() if line.startswith("|")]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    (column,) = {row.index(release) for row in rows if row[1:] == list(RELEASES)}
    return {row[0]: row[column] for row in rows if row[0].endswith(".version") and row[column] != "-"}
