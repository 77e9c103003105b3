"""Real containers: skipped without an engine, a failure when CHAOSKAFKA_REQUIRE=docker."""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chaoskafka.clock import Clock, MonotonicClock, wait_until
from chaoskafka.cluster.abilities import CanKill, Cluster, Deed, Knock
from chaoskafka.cluster.admin import Admin
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.ready import wait_formed
from chaoskafka.cluster.sights import BrokerView
from chaoskafka.cluster.spec import ClusterSpec, Timeouts
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.undo import Undo
from chaoskafka.cluster.versions import DEFAULT
from chaoskafka.cluster.views import Views
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import ensure
from chaoskafka.runtimes.docker.engine import Engine, connect
from chaoskafka.runtimes.docker.labels import RUN
from chaoskafka.runtimes.docker.open import Images, open_cluster


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The engine, or a skip that CHAOSKAFKA_REQUIRE=docker turns into a failure."""
    try:
        connection = connect()
        found = connection.__enter__()
    except EnvironmentFailure as missing:
        if "docker" in os.environ.get("CHAOSKAFKA_REQUIRE", "").split(","):
            raise
        pytest.skip(f"no Docker engine: {missing.problem}")
    try:
        yield found
    finally:
        connection.__exit__(None, None, None)


@pytest.fixture(scope="session")
def images(engine: Engine) -> Images:
    """The images of the default version, built when they are missing."""
    found = ensure(DEFAULT)
    return Images(kafka=found.kafka, toolbox=found.toolbox, client=found.client)


@pytest.fixture(scope="session")
def three(images: Images) -> Iterator[Cluster]:
    """Three combined nodes that have formed; tests that hurt it heal it."""
    spec = ClusterSpec(nodes=3, timeouts=Timeouts.FAST, config={"offsets.topic.num.partitions": "3"})
    with open_cluster(spec, run_id=f"tests-{secrets.token_hex(3)}", images=images) as cluster:
        wait_formed(Views(cluster.host_addresses()), spec, within_s=180, clock=MonotonicClock())
        yield cluster


@pytest.fixture(scope="session")
def views(three: Cluster) -> Views:
    return Views(three.host_addresses())


@pytest.fixture(scope="session")
def admin(three: Cluster) -> Admin:
    return Admin(three.host_addresses().values())


@dataclass
class On:
    """A stage on which every target is these nodes."""

    nodes: tuple[CanKill, ...]
    cluster: Cluster | None = None
    clock: Clock = field(default_factory=MonotonicClock)

    def look(self) -> list[BrokerView]:
        assert self.cluster is not None
        return Views(self.cluster.host_addresses()).ask_all()

    def stopping(self) -> None:
        """Nobody reads the controllers' log."""

    def resolve(self, target: Target, ability: type[CanKill]) -> tuple[CanKill, ...]:
        return self.nodes

    def act(
        self, nodes: Sequence[CanKill], deed: Callable[[CanKill], Deed], *, undo: Undo, detail: str = ""
    ) -> list[Deed]:
        return [deed(node) for node in nodes]


CHEAPER = (  # of leader-killed-fast, where the question is one of the harness, not what Kafka can bear
    "plan[0].after_s=1",
    "plan[0].kill.for_s=4",
    "topics.orders.partitions=2",
    "workloads[0].produce.rate_per_s=60",
    "workloads[1].consume.processes=1",
)
CHEAPER_FLAGS = tuple(f"--set={setting}" for setting in CHEAPER)


def is_alive(pid: int) -> bool:
    """Whether it runs: one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def unix_socket() -> Path:
    """Where this machine's engine listens."""
    named = os.environ.get("DOCKER_HOST", "")
    return Path(named.removeprefix("unix://") if named.startswith("unix://") else "/var/run/docker.sock")


def objects_of(engine: Engine, run_id: str) -> list[str]:
    """Names of everything that carries a run's label."""
    api, filters = engine.api.api, {"label": f"{RUN}={run_id}"}
    containers = [each["Names"][0].lstrip("/") for each in api.containers(all=True, filters=filters)]
    volumes = [each["Name"] for each in api.volumes(filters=filters)["Volumes"] or []]
    networks = [each["Name"] for each in api.networks(filters=filters)]
    return sorted([*containers, *volumes, *networks])


def wait_for_answers(cluster: Cluster) -> None:
    """Until every broker answers on its clients' port, as asked from inside."""
    for broker in cluster.spec.broker_ids:
        node = cluster.nodes[broker]
        wait_until(
            f"{node.spec.name} to answer",
            read=lambda node=node: node.knock(Plane.CLIENTS.port),  # type: ignore[misc]
            good=lambda knock: knock is Knock.ANSWERED,
            within_s=180,
        )
