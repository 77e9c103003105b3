"""The Kafka image keeps the official image's promises, and the other two hold what their users call."""

import secrets
from collections.abc import Iterator

import docker
import pytest
from docker.models.containers import Container

from chaoskafka.clock import wait_until
from chaoskafka.cluster.versions import DEFAULT
from chaoskafka.images import ImageSet, ensure, open_engine
from chaoskafka.images.kafka import TOOLS
from chaoskafka.images.recipe import KIND_LABEL

pytestmark = pytest.mark.docker

START_S = 180.0  # seconds on an idle machine
ENVIRONMENT = {
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LISTENERS": "INSIDE://:9092,CONTROLLER://:9093",
    "KAFKA_ADVERTISED_LISTENERS": "INSIDE://localhost:9092",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "INSIDE",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,INSIDE:PLAINTEXT",
    "KAFKA_LOG_DIRS": "/var/lib/kafka/data/logs",
    "KAFKA_HEAP_OPTS": "-Xms100m -Xmx256m",
    "KAFKA_MESSAGE_MAX_BYTES": "2000000",
}


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    engine = open_engine()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def made(client: docker.DockerClient) -> ImageSet:
    return ensure(DEFAULT, client=client)


@pytest.fixture
def node(client: docker.DockerClient, made: ImageSet) -> Iterator[Container]:
    name = f"chaoskafka-image-test-{secrets.token_hex(3)}"
    volume = client.volumes.create(name)
    container = client.containers.create(
        made.kafka,
        name=name,
        environment=ENVIRONMENT,
        network_mode="none",
        hostname="localhost",
        volumes={name: {"bind": "/var/lib/kafka/data", "mode": "rw"}},
    )
    try:
        yield container
    finally:
        container.remove(force=True, v=True)
        volume.remove()


def once(client: docker.DockerClient, image: str, command: list[str], **environment: str) -> tuple[int, str]:
    """Run a command in a container of its own, and remove that."""
    container = client.containers.create(
        image, command, environment=environment, network_mode="none", hostname="localhost"
    )
    try:
        container.start()
        code = int(container.wait(timeout=START_S)["StatusCode"])
        return code, container.logs().decode()
    finally:
        container.remove(force=True)


def starts_seen(node: Container) -> int:
    return int(node.logs().decode().count("Kafka Server started"))


def run_in(node: Container, script: str) -> str:
    result = node.exec_run(["bash", "-c", script])
    assert isinstance(result.output, bytes)
    assert result.exit_code == 0, result.output
    return result.output.decode()


def test_a_second_call_builds_nothing(client: docker.DockerClient, made: ImageSet) -> None:
    lines: list[str] = []
    assert ensure(DEFAULT, lines.append, client) == made
    assert lines == []


def test_images_are_never_taken_for_leftovers_of_a_run(client: docker.DockerClient, made: ImageSet) -> None:
    for name in (made.kafka, made.toolbox, made.client):
        labels = client.images.get(name).labels
        assert KIND_LABEL in labels
        assert "chaoskafka.run" not in labels


def test_a_node_starts_stops_and_starts_again_on_its_formatted_disk(node: Container) -> None:
    node.start()
    wait_until("the first start", read=lambda: starts_seen(node), good=lambda seen: seen == 1, within_s=START_S)
    # java is process 1 and appuser; the fresh volume was writable for it.
    assert run_in(node, "cat /proc/1/comm; id -un; id -u; ls /var/lib/kafka/data").split() == [
        "java",
        "appuser",
        "1000",
        "logs",
    ]
    assert "message.max.bytes=2000000" in run_in(node, "cat /opt/kafka/config/server.properties").splitlines()
    # The class archive is in use; without it every start costs twice the processor time.
    assert "/opt/kafka/cds/kafka.Kafka.jsa" in run_in(node, "cat /proc/1/maps")
    log = node.logs().decode()
    assert "(org.apache.kafka.controller.QuorumController)" in log, "elections must be seen in the console's log"
    directory_id = run_in(node, "cat /var/lib/kafka/data/logs/meta.properties")

    node.stop(timeout=120)
    node.reload()
    assert node.attrs["State"]["ExitCode"] == 143, "SIGTERM did not reach java"

    node.start()
    wait_until("the second start", read=lambda: starts_seen(node), good=lambda seen: seen == 2, within_s=START_S)
    assert run_in(node, "cat /var/lib/kafka/data/logs/meta.properties") == directory_id


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"KAFKA_ADVERTISED_LISTENERS": ""}, "KAFKA_ADVERTISED_LISTENERS is required"),
        ({"KAFKA_PROCESS_ROLES": "controller"}, "KAFKA_ADVERTISED_LISTENERS is not supported"),
        ({"KAFKA_NODE_ID": "one"}, "Invalid value one"),
    ],
)
def test_an_environment_that_cannot_work_is_refused(
    client: docker.DockerClient, made: ImageSet, changed: dict[str, str], says: str
) -> None:
    code, output = once(client, made.kafka, ["/etc/kafka/docker/run"], **{**ENVIRONMENT, **changed})
    assert code != 0
    assert says in output


def test_every_tool_names_a_class_that_the_jars_have(client: docker.DockerClient, made: ImageSet) -> None:
    script = """
import pathlib, zipfile
have = {name for jar in pathlib.Path("/opt/kafka/libs").glob("*.jar") for name in zipfile.ZipFile(jar).namelist()}
for tool in sorted(pathlib.Path("/opt/kafka/bin").glob("*.sh")):
    for word in tool.read_text().split():
        if word.startswith(("kafka.", "org.apache.")):
            print(tool.stem, word.replace(".", "/") + ".class" in have)
"""
    code, output = once(client, made.kafka, ["python3", "-c", script])
    found = dict(line.split() for line in output.splitlines())
    assert code == 0
    assert {*TOOLS, "kafka-server-start"} == set(found)
    assert set(found.values()) == {"True"}, found


def test_the_toolbox_and_the_client_hold_what_is_called(client: docker.DockerClient, made: ImageSet) -> None:
    programs = "nft iptables ip tc ss python3 python bash sleep"
    assert once(client, made.toolbox, ["bash", "-c", f"type -P {programs} | wc -l"]) == (
        0,
        f"{len(programs.split())}\n",
    )
    code, output = once(
        client, made.client, ["python", "-c", "import confluent_kafka, kio, numpy, tenacity; print('ok')"]
    )
    assert (code, output) == (0, "ok\n")
