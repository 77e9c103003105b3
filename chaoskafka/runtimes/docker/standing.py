"""Clusters that stand: made by one command, hit by others, removed by a last one, while no process holds them.

In: a cluster that has formed, and what it was made from. Out: a mark in the engine, an empty volume with labels, made
last and removed with the rest; a later process finds clusters by it and attaches to one. A start that was cut short has
no mark, so a heal removes it; what has one, a heal spares.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from chaoskafka.cluster.credentials import make_credentials
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes.docker.engine import Engine, asking, connect
from chaoskafka.runtimes.docker.labels import FACTS, NODE, ROLE, RUN, Part, labels, object_name
from chaoskafka.runtimes.docker.node import DockerNode
from chaoskafka.runtimes.docker.open import DockerCluster
from chaoskafka.runtimes.docker.reach import reach_of
from chaoskafka.runtimes.docker.sweep import remove_run


def mark(run_id: str, facts: str) -> None:
    """From now on the cluster stands. `facts` come back from `standing`. Raises EnvironmentFailure."""
    name = object_name(run_id, Part.STANDING.value)
    with connect() as engine, asking(f"marking the cluster {run_id}"):
        engine.api.volumes.create(name, labels={**labels(run_id, Part.STANDING), FACTS: facts})


def standing() -> dict[str, str]:
    """Clusters that stand, whoever made them: id to facts. Blocks. Raises EnvironmentFailure."""
    with connect() as engine, asking("listing clusters that stand"):
        found = engine.api.api.volumes(filters={"label": f"{ROLE}={Part.STANDING}"})["Volumes"] or []
        return {each["Labels"][RUN]: each["Labels"].get(FACTS, "") for each in found}


@contextmanager
def attach(run_id: str, spec: ClusterSpec) -> Iterator[DockerCluster]:
    """The cluster as it is; leaving removes nothing. Raises EnvironmentFailure when parts of it are gone."""
    with connect() as engine:
        nodes = _nodes(engine, run_id, spec)
        reach, network = reach_of(engine), object_name(run_id, "net")
        published = {
            broker: reach.address(engine, nodes[broker].host, Plane.HOST.port, network=network)
            for broker in spec.broker_ids
        }
        yield DockerCluster(
            spec,
            nodes=nodes,
            published=published,
            clients=None,
            credentials=make_credentials(spec.security),
            versions={"engine": f"docker {engine.version}", "kafka": spec.release},
        )


def take_down(run_id: str) -> list[str]:
    """Remove all of a cluster; returns the names. Blocks. Raises EnvironmentFailure."""
    with connect() as engine:
        return remove_run(engine, run_id)


def _nodes(engine: Engine, run_id: str, spec: ClusterSpec) -> dict[int, DockerNode]:
    with asking(f"looking for the nodes of {run_id}"):
        found = engine.api.containers.list(all=True, filters={"label": f"{RUN}={run_id}"})
    parts = {(each.labels.get(NODE), each.labels.get(ROLE)): each for each in found}
    nodes = {}
    for member in spec.members:
        host, kafka = parts.get((member.name, Part.HOST)), parts.get((member.name, Part.KAFKA))
        if host is None or kafka is None:
            mend = f"chaoskafka down {run_id}"
            raise EnvironmentFailure(f"cluster {run_id}: containers of {member.name} are gone", mend=mend)
        nodes[member.node_id] = DockerNode(engine, member, host=host, kafka=kafka)
    return nodes
