"""What a run plays on: a way of running clusters, and of asking them from here. Tests give one in memory.

In: a spec. Out: what opens such a cluster, and who asks it: `DOCKER`, `PROCESS`, and `PROCESS_PLAIN`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from chaoskafka.clock import Clock
from chaoskafka.cluster.abilities import Address, Cluster
from chaoskafka.cluster.admin import Admin, Administration
from chaoskafka.cluster.security import Security
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.views import Views
from chaoskafka.images import ensure
from chaoskafka.images.home import bare_environment, kafka_home
from chaoskafka.runtimes import ABILITIES
from chaoskafka.runtimes.docker.open import Images, open_cluster
from chaoskafka.runtimes.process import open as process

Note = Callable[[str], None]


class Opens(Protocol):
    """Opens a prepared cluster; leaving removes all that was created, unless `keep`. Blocks; the clock cuts it short:
    what opens asks it between any two steps, from whichever thread."""

    def __call__(self, *, run_id: str, clock: Clock, keep: bool) -> AbstractContextManager[Cluster]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """`prepare` makes what a cluster is started from, tells what it makes, starts nothing; a stop ends its waits."""

    name: str
    abilities: tuple[type, ...]
    prepare: Callable[[ClusterSpec, Note, Clock], Opens]
    views: Callable[[Mapping[int, Address], Security], Views] = Views
    admin: Callable[[Iterable[Address], Security], Administration] = Admin
    clients: str = "client_container"  # where they stand, for the header


def _prepare_docker(spec: ClusterSpec, note: Note, clock: Clock) -> Opens:
    """Blocks for minutes when images must be built. Raises EnvironmentFailure, CommandFailed, Interrupted."""
    built = ensure(spec.release, note, clock=clock)
    return partial(open_cluster, spec, images=Images(kafka=built.kafka, toolbox=built.toolbox, client=built.client))


DOCKER = Runtime(name="docker", abilities=ABILITIES["docker"], prepare=_prepare_docker)


def _prepare_process(spec: ClusterSpec, note: Note, clock: Clock, *, plain: bool = False) -> Opens:
    """Blocks for some 15 s when Kafka must be set up first. Raises EnvironmentFailure, CommandFailed, Interrupted."""
    home = kafka_home(spec.release, note, clock=clock)
    versions = {"engine": f"processes, {home.java.version}", "kafka": home.kafka, "kafka.jars": home.jars_from}
    kafka = process.Kafka(root=home.root, environment=bare_environment(home.java), versions=versions)
    return partial(process.open_cluster, spec, kafka=kafka, plain=plain)


PROCESS = Runtime(name="process", abilities=ABILITIES["process"], prepare=_prepare_process, clients="namespace")
PROCESS_PLAIN = Runtime(
    name="process-plain",
    abilities=ABILITIES["process-plain"],
    prepare=partial(_prepare_process, plain=True),
    clients="loopback",
)
