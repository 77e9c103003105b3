"""A run's network and its volumes: created with labels, removed by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from docker import errors as docker_errors

from chaoskafka.clock import wait_until
from chaoskafka.runtimes.docker.engine import Engine, asking
from chaoskafka.runtimes.docker.labels import Part, labels

# A container that was removed lets go of its network and volumes a little later, on a busy machine after seconds.
_LET_GO_WITHIN_S = 15.0


def create_network(engine: Engine, name: str, run_id: str) -> None:
    """A bridge of the run's own, on which names resolve. Raises EnvironmentFailure."""
    with asking(f"creating the network {name}"):
        engine.api.networks.create(name, driver="bridge", check_duplicate=True, labels=labels(run_id, Part.NETWORK))


def create_volume(engine: Engine, name: str, run_id: str, node: str) -> None:
    """A node's disk. Raises EnvironmentFailure."""
    with asking(f"creating the volume {name}"):
        engine.api.volumes.create(name, labels=labels(run_id, Part.DATA, node))


def join_network(engine: Engine, name: str, container_id: str) -> None:
    """Connect a container that runs, by id, as our own. The network's removal undoes it. Raises EnvironmentFailure."""
    with asking(f"connecting our own container {container_id[:12]} to the network {name}"):
        engine.api.api.connect_container_to_network(container_id, name)


def remove_network(engine: Engine, name: str) -> None:
    """Whoever is still connected, as a harness in a container, is disconnected first.

    Blocks until it is gone, up to 15 s; harmless when there is none. Raises EnvironmentFailure or WaitTimeout.
    """
    api = engine.api.api

    def act() -> None:
        for container_id in api.inspect_network(name)["Containers"] or {}:
            with suppress(docker_errors.APIError):  # gone meanwhile; and one that stays keeps the network from going
                api.disconnect_container_from_network(container_id, name, force=True)
        api.remove_network(name)

    _remove(f"the network {name}", act)


def remove_volume(engine: Engine, name: str) -> None:
    """Blocks until it is gone, up to 15 s; harmless when there is none. Raises EnvironmentFailure or WaitTimeout."""
    _remove(f"the volume {name}", lambda: engine.api.api.remove_volume(name))


def _remove(what: str, act: Callable[[], object]) -> None:
    def try_once() -> str:
        with asking(f"removing {what}"):
            try:
                act()
            except docker_errors.NotFound:
                return "gone"
            except docker_errors.APIError as failed:
                if failed.status_code not in (403, 409):  # in use
                    raise
                return str(failed)
            return "gone"

    wait_until(f"{what} to be removed", read=try_once, good=lambda seen: seen == "gone", within_s=_LET_GO_WITHIN_S)
