"""Our environment handling against Kafka's own: what we turn into KAFKA_* variables, its wrapper turns back."""

from __future__ import annotations

import docker
import pytest

from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.config import environment, settings, variable
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec, Timeouts
from chaoskafka.cluster.versions import DEFAULT
from chaoskafka.images import ensure, open_engine

pytestmark = pytest.mark.docker

SETUP = (
    "mkdir -p /tmp/final /tmp/mounted && /opt/kafka/bin/kafka-run-class.sh kafka.docker.KafkaDockerWrapper setup"
    " --default-configs-dir /etc/kafka/docker --mounted-configs-dir /tmp/mounted --final-configs-dir /tmp/final"
    " >/tmp/setup.log 2>&1 || { cat /tmp/setup.log; exit 1; }; cat /tmp/final/server.properties; echo"
)

COMBINED = ClusterSpec(nodes=3, timeouts=Timeouts.FAST, config={"message.max.bytes": "2000000", "num.io.threads": "4"})
ISOLATED = ClusterSpec(controllers=1, brokers=2)
AWKWARD = {
    # Every separator that a setting's name can hold, alone, doubled and mixed.
    "listener.name.clients.ssl.key.password": "a=b#c",
    "sasl_mechanism.x": "plain",
    "a-b.c": "1",
    "a_b-c.d": "2",
    "x--y": "3",
}


def as_the_wrapper_has_it(variables: dict[str, str]) -> dict[str, str]:
    """What KafkaDockerWrapper in the image writes to server.properties."""
    image = ensure(DEFAULT).kafka
    client: docker.DockerClient = open_engine()
    try:
        output = client.containers.run(
            image, ["bash", "-c", SETUP], entrypoint=[], environment=variables, network_mode="none", remove=True
        )
    finally:
        client.close()
    lines = [line for line in output.decode().splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize(
    ("spec", "node", "address"),
    [
        (COMBINED, COMBINED.members[0], Address("127.0.0.1", 40001)),
        (ISOLATED, ISOLATED.members[0], Address("127.0.0.1", 40001)),
        (ISOLATED, ISOLATED.members[-1], None),
    ],
    ids=["combined", "broker", "controller"],
)
def test_every_setting_of_a_node_comes_back_as_it_was(
    spec: ClusterSpec, node: NodeSpec, address: Address | None
) -> None:
    wanted = settings(spec, node, address)
    assert len(wanted) > 10
    variables = environment(spec, node, address, cluster_id="4L6g3nShT-eMCtK--X86sw")
    assert as_the_wrapper_has_it(variables) == wanted


def test_awkward_names_come_back_as_they_were() -> None:
    node = COMBINED.members[0]
    base = environment(COMBINED, node, Address("127.0.0.1", 40001), cluster_id="4L6g3nShT-eMCtK--X86sw")
    found = as_the_wrapper_has_it({**base, **{variable(key): value for key, value in AWKWARD.items()}})
    assert {key: found.get(key) for key in AWKWARD} == AWKWARD


def test_what_the_image_keeps_for_itself_is_no_setting() -> None:
    node = COMBINED.members[0]
    base = environment(COMBINED, node, Address("127.0.0.1", 40001), cluster_id="4L6g3nShT-eMCtK--X86sw")
    found = as_the_wrapper_has_it({**base, "KAFKA_OPTS": "-Dx=y", "KAFKA_VERSION": DEFAULT})
    assert not {"heap.opts", "log4j.loggers", "opts", "version"} & found.keys()
