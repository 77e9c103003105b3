"""How the harness reaches brokers: by ports that the engine publishes, or as a member of the cluster's own network.

In: the engine, and where this process runs. Out: a Reach, decided before anything is created.
"""

from __future__ import annotations

from dataclasses import dataclass

from docker.models.containers import Container

from chaoskafka.cluster.abilities import Address
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes.docker.containers import inspect
from chaoskafka.runtimes.docker.engine import Engine, asking
from chaoskafka.runtimes.owner import own_container

_SHARED = "container:"  # of a network mode: the network of another container


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Exactly one is set. Either way the listener is the one for the harness, and no place for proofs."""

    publish_on: str | None = None  # address of the engine's machine on which ports are published
    joins: str | None = None  # full id of the container that is to be connected to the cluster's network

    def publish(self, port: int) -> dict[int, str]:
        """What a container has to publish so that its `port` is reached."""
        return {port: self.publish_on} if self.publish_on is not None else {}

    def address(self, engine: Engine, container: Container, port: int, *, network: str) -> Address:
        """Where `port` of a container that runs on `network` is reached from here. Raises EnvironmentFailure."""
        found = inspect(engine, container)["NetworkSettings"]
        if self.publish_on is None:
            return Address(str(found["Networks"][network]["IPAddress"]), port)
        published = found["Ports"].get(f"{port}/tcp") or []
        if not published:
            raise EnvironmentFailure(f"the Docker engine published no port for {port}/tcp of {container.name}")
        return Address(engine.host, int(published[0]["HostPort"]))


def reach_of(engine: Engine) -> Reach:
    """Blocks for a question to the engine, in a container. Raises EnvironmentFailure.

    The loopback on which a local engine publishes is that of its machine. A harness in one of the engine's containers
    has a loopback of its own, unless it shares its host's network; so it joins the cluster's network instead.
    """
    if not engine.is_local:
        return Reach(publish_on="0.0.0.0")  # noqa: S104 - which of its addresses is reached from here, only its host knows
    ours = own_container()
    if not ours:
        return Reach(publish_on="127.0.0.1")
    with asking(f"looking for our own container {ours[:12]}"):
        known = engine.api.api.containers(filters={"id": ours})
    if not known:  # another engine's container: ports on its loopback may be reached or not, but no network of this one
        return Reach(publish_on="127.0.0.1")
    with asking(f"inspecting our own container {ours[:12]}"):
        mode = str(engine.api.api.inspect_container(ours)["HostConfig"]["NetworkMode"])
    if mode == "host":
        return Reach(publish_on="127.0.0.1")
    return Reach(joins=mode.removeprefix(_SHARED) if mode.startswith(_SHARED) else ours)
