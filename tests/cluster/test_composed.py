"""The Compose files of the repository start what they say, and remove it again."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskafka.clock import MonotonicClock
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.admin import Admin, make_topics
from chaoskafka.cluster.ready import wait_formed
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.commands.compose import written
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.open import Images

pytestmark = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.timeout(300)]

FIRST_PORT = 39092  # beside those of the files in the repository, which somebody may have up
UP_S, DOWN_S = 120, 120


def composer() -> list[str]:
    """Compose as a plugin, or the program of its own that Debian has."""
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0:
        return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    pytest.skip("no Compose here: apt-get install docker-compose")


@pytest.fixture(params=[ClusterSpec(nodes=3), ClusterSpec(controllers=3, brokers=3)], ids=["combined", "isolated"])
def spec(request: pytest.FixtureRequest, tmp_path: Path, engine: Engine, images: Images) -> Iterator[ClusterSpec]:
    """A cluster that Compose has started; gone with its volumes afterwards."""
    name = f"chaoskafka-test-{secrets.token_hex(3)}"
    path = tmp_path / "compose.yaml"
    path.write_text(written(request.param, name=name, first_port=FIRST_PORT))
    command = [*composer(), "--project-name", name, "--file", str(path)]
    environment = {**os.environ, "KAFKA_IMAGE": images.kafka}
    try:
        subprocess.run([*command, "up", "--detach"], env=environment, check=True, timeout=UP_S)
        yield request.param
    finally:
        down = [*command, "down", "--volumes", "--timeout", "10"]
        subprocess.run(down, env=environment, check=True, timeout=DOWN_S)
    of_project = {"label": f"com.docker.compose.project={name}"}
    assert engine.api.api.containers(all=True, filters=of_project) == []


def test_it_forms_and_takes_a_topic(spec: ClusterSpec) -> None:
    addresses = {broker: Address("localhost", FIRST_PORT + broker - 1) for broker in spec.broker_ids}
    views, clock = Views(addresses), MonotonicClock()
    wait_formed(views, spec, within_s=120, clock=clock)
    topics = {"orders": TopicSpec(partitions=3)}
    ids = make_topics(Admin(addresses.values()), views, topics, within_s=60, clock=clock)
    assert set(ids) == {"orders"}
