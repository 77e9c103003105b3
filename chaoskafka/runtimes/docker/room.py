"""Whether the engine's disk has room for a cluster. In: a container with a volume. Out: nothing, or an error.

The engine may be far away or in a virtual machine, so the room is read where its volumes are: inside a container.
"""

from __future__ import annotations

from docker.models.containers import Container

from chaoskafka.errors import CommandFailed
from chaoskafka.machine import NODE_DISK_MIB, check_room
from chaoskafka.runtimes.docker.containers import execute
from chaoskafka.runtimes.docker.engine import Engine

ASKED_MAX = 3  # what a command says inside a container was lost once on its way over TCP: exit code 0, and no output
PRUNE = "docker system df   # what fills it; then: docker image prune, docker builder prune"


def check_disk(engine: Engine, container: Container, directory: str, *, nodes: int) -> None:
    """Raises EnvironmentFailure when the disk under `directory` has less room than `nodes` nodes need."""
    code, output = 0, ""
    for _ in range(ASKED_MAX):
        code, output = execute(engine, container, ["df", "--output=avail", "--block-size=1M", directory])
        if code != 0 or output.split():
            break
    free = output.split()[-1] if output.split() else ""
    if code != 0 or not free.isdecimal():
        raise CommandFailed(f"df {directory} in the container {container.name}", code, output)
    check_room(
        int(free), NODE_DISK_MIB * nodes, where="the engine's disk", what=f"a cluster of {nodes} nodes", mend=PRUNE
    )
