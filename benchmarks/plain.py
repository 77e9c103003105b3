"""Three combined nodes as Kafka's documentation starts them, in containers: what `forming` compares with.

    kafka-storage.sh random-uuid
    kafka-storage.sh format -t ID -c server.properties      on each node
    kafka-server-start.sh server.properties                 on each node

with the flags that Kafka's own scripts give to java when nothing is set. Here stand the java commands that they end in,
since the scripts in our image are not Kafka's. What theirs do before, a look at the name of each jar, is left out in
the baseline's favour. The jars are the image's; its archives of loaded classes are not used.
"""

from __future__ import annotations

import io
import secrets
import tarfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import docker
from docker.models.containers import Container

from chaoskafka.cluster.abilities import Address
from chaoskafka.errors import CommandFailed
from chaoskafka.images.layers import OWNER
from chaoskafka.runtimes.docker.labels import RUN, Part, labels, object_name
from chaoskafka.runtimes.locks import run_lock

NODES = (1, 2, 3)
PORT, CONTROLLER_PORT = 9092, 9093
HOME = "/tmp/kafka"  # noqa: S108 - of a container of ours
ANSWER_S = 120  # of one request to the engine: `format` on a busy machine

_TOOL_HEAP, _SERVER_HEAP = "-Xmx256M", "-Xmx1G -Xms1G"
_ALWAYS = (
    "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35"
    " -XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true -Dcom.sun.management.jmxremote=true"
    " -Dcom.sun.management.jmxremote.authenticate=false"
    f" -Dcom.sun.management.jmxremote.ssl=false -Dkafka.logs.dir={HOME}/logs"
)
_GC_LOG = f"-Xlog:gc*:file={HOME}/logs/kafkaServer-gc.log:time,tags:filecount=10,filesize=100M"
_CLASSES = "-cp '/opt/kafka/libs/*'"
_LOGGING = "-Dlog4j2.configurationFile=/opt/kafka/config"
_STORAGE = f"java {_TOOL_HEAP} {_ALWAYS} {_LOGGING}/tools-log4j2.yaml {_CLASSES} kafka.tools.StorageTool"
_SERVER = f"java {_SERVER_HEAP} {_ALWAYS} {_GC_LOG} {_LOGGING}/log4j2.yaml {_CLASSES} kafka.Kafka"

# config/server.properties of the release, with what makes three nodes of it.
_PROPERTIES = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://:{port},CONTROLLER://:{controller_port}
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://node-{node}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs={home}/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A cluster on its way up: where its brokers are reached, and what the id alone took."""

    addresses: dict[int, Address]
    random_uuid_s: float


@contextmanager
def plain_start(image: str) -> Iterator[Plain]:
    """Start; leaving removes everything. Whether it has formed is for the caller to ask. Blocks."""
    engine = docker.from_env(timeout=ANSWER_S)
    run_id = f"plain-{secrets.token_hex(3)}"
    network = object_name(run_id, "net")
    with run_lock(
        run_id
    ):  # with the labels, so that `chaoskafka heal` finds what a killed benchmark leaves, and only that
        try:
            engine.networks.create(network, driver="bridge", labels=labels(run_id, Part.NETWORK))
            with ThreadPoolExecutor(len(NODES)) as pool:
                places = list(pool.map(lambda node: _place(engine, image, run_id, node), NODES))
                began_s = time.monotonic()
                cluster_id = _run(places[0], f"{_STORAGE} random-uuid").strip()
                random_uuid_s = time.monotonic() - began_s
                list(pool.map(lambda place: _serve(place, cluster_id), places))
            addresses = {node: _address(place) for node, place in zip(NODES, places, strict=True)}
            yield Plain(addresses=addresses, random_uuid_s=random_uuid_s)
        finally:
            mine: dict[str, Any] = {"label": f"{RUN}={run_id}"}
            for container in engine.containers.list(all=True, filters=mine):
                container.remove(force=True, v=True)
            for created in engine.networks.list(filters=mine):
                created.remove()
            engine.close()


def _place(engine: docker.DockerClient, image: str, run_id: str, node: int) -> Container:
    """A machine for one node, so to speak: a container that is up and has the node's configuration."""
    network = object_name(run_id, "net")
    container = engine.containers.create(
        image,
        entrypoint=["sleep", "infinity"],
        name=object_name(run_id, f"node-{node}"),
        labels=labels(run_id, Part.KAFKA, f"node-{node}"),
        hostname=f"node-{node}",
        ports=cast("Any", {f"{PORT}/tcp": ("127.0.0.1", None)}),  # the engine chooses
        network=network,
        networking_config={network: engine.api.create_endpoint_config(aliases=[f"node-{node}"])},
    )
    container.put_archive("/tmp", _files(node))  # noqa: S108 - the container's
    container.start()
    return container


def _serve(place: Container, cluster_id: str) -> None:
    _run(place, f"{_STORAGE} format -t {cluster_id} -c {HOME}/server.properties")
    place.exec_run(["bash", "-c", f"exec {_SERVER} {HOME}/server.properties >{HOME}/logs/server.out 2>&1"], detach=True)


def _run(place: Container, script: str) -> str:
    code, output = place.exec_run(["bash", "-c", script])
    said = output.decode(errors="replace") if isinstance(output, bytes) else ""
    if code != 0:
        raise CommandFailed(script, code, said)
    return said


def _files(node: int) -> bytes:
    """A tar with the node's directory, as appuser's."""
    voters = ",".join(f"{other}@node-{other}:{CONTROLLER_PORT}" for other in NODES)
    properties = _PROPERTIES.format(
        node=node, voters=voters, port=PORT, controller_port=CONTROLLER_PORT, home=HOME
    ).encode()
    directory = HOME.rpartition("/")[2]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in (
            (directory, None),
            (f"{directory}/logs", None),
            (f"{directory}/server.properties", properties),
        ):
            info = tarfile.TarInfo(name)
            info.uid = info.gid = OWNER
            info.type, info.mode = (tarfile.DIRTYPE, 0o755) if content is None else (tarfile.REGTYPE, 0o644)
            info.size = len(content or b"")
            tar.addfile(info, io.BytesIO(content or b""))
    return packed.getvalue()


def _address(place: Container) -> Address:
    place.reload()
    published = place.attrs["NetworkSettings"]["Ports"][f"{PORT}/tcp"]
    return Address("127.0.0.1", int(published[0]["HostPort"]))
