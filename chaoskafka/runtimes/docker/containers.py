"""Containers as we use them: a description in, a running container out; and their removal by name.

testcontainers creates, fills and starts; Docker's SDK is used for everything after that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from docker import errors as docker_errors
from docker.models.containers import Container
from docker.types import LogConfig
from testcontainers.core.container import DockerContainer

from chaoskafka.runtimes.docker.engine import API_TIMEOUT_S, Engine, asking

# A chaotic hour of one broker's INFO log is a few MiB; the cap only keeps a log storm from filling the disk.
_LOG = LogConfig(type=LogConfig.types.JSON, config={"max-size": "100m", "max-file": "2"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A container to be. Give either `network` (with `alias`) or `joins` (a container whose network it shares)."""

    name: str
    image: str
    labels: Mapping[str, str]
    memory_mib: int
    command: Sequence[str] | None = None  # replaces the image's entrypoint too; None: the image's own
    environment: Mapping[str, str] = field(default_factory=dict)
    network: str | None = None
    alias: str | None = None  # also its host name
    joins: str | None = None
    volumes: Mapping[str, str] = field(default_factory=dict)  # volume name -> path
    publish: Mapping[int, str] = field(default_factory=dict)  # port -> address of the engine's host to publish it on
    copy: Mapping[Path, str] = field(default_factory=dict)  # directory here -> directory there to put it in
    files: Mapping[str, bytes] = field(default_factory=dict)  # path there -> content
    working_dir: str | None = None
    capabilities: Sequence[str] = ()  # beyond the engine's default ones


def start(engine: Engine, plan: Plan) -> Container:
    """Create, fill and start. Blocks. Raises EnvironmentFailure; what was created by then is found under its name."""
    with asking(f"starting the container {plan.name}"):
        draft = _draft(plan)
        client = draft.get_docker_client().client
        try:
            draft.start()
        finally:
            client.close()
        return engine.api.containers.get(draft.get_container_id())


def remove(engine: Engine, name: str) -> None:
    """Remove a container, with its anonymous volumes, by name or id; harmless when there is none."""
    with asking(f"removing the container {name}"):
        try:
            engine.api.api.remove_container(name, force=True, v=True)
        except docker_errors.NotFound:
            return
        except docker_errors.APIError as failed:
            if failed.status_code != 409:  # 409: somebody is removing it right now
                raise


def inspect(engine: Engine, container: Container) -> Mapping[str, Any]:
    """Everything that the engine knows of a container, asked now."""
    with asking(f"inspecting the container {container.name}"):
        return cast("Mapping[str, Any]", engine.api.api.inspect_container(container.id or ""))


def running_ids(engine: Engine) -> frozenset[str]:
    """Full ids of all containers that run in the engine, whoever's they are. Raises EnvironmentFailure."""
    with asking("listing what runs"):
        return frozenset(each["Id"] for each in engine.api.api.containers())


def execute(engine: Engine, container: Container, argv: Sequence[str]) -> tuple[int, str]:
    """Run `argv` in a container to its end: exit code and output. Blocks for as long. Raises EnvironmentFailure."""
    with asking(f"executing {argv[0]} in the container {container.name}"):
        started = engine.api.api.exec_create(container.id or "", list(argv))
        output = engine.api.api.exec_start(started["Id"])
        return int(engine.api.api.exec_inspect(started["Id"])["ExitCode"]), output.decode(errors="replace")


def send_signal(container: Container, name: str) -> bool:
    """Signal a container's process through the engine; False: it had ended. Raises EnvironmentFailure."""
    with asking(f"sending {name} to the container {container.name}"):
        try:
            container.kill(signal=name)
        except docker_errors.APIError as failed:
            if failed.status_code not in (404, 409):  # gone, or not running
                raise
            return False
        return True


def _draft(plan: Plan) -> DockerContainer:
    draft = DockerContainer(plan.image, name=plan.name, docker_client_kw={"timeout": API_TIMEOUT_S})
    draft.image = plan.image  # without testcontainers' registry prefix: our images are local
    draft.with_envs(**plan.environment)
    for volume, path in plan.volumes.items():
        draft.with_volume_mapping(volume, path, "rw")
    for directory, destination in plan.copy.items():
        draft.with_copy_into_container(directory, destination)
    for path, content in plan.files.items():
        draft.with_copy_into_container(content, path)
    for port, address in plan.publish.items():
        # (address, None): the engine chooses a free port, on that address only; testcontainers has no word for it.
        cast("dict[str, Any]", draft.ports)[f"{port}/tcp"] = (address, None)
    more: dict[str, Any] = {
        "labels": dict(plan.labels),
        "mem_limit": f"{plan.memory_mib}m",
        "memswap_limit": f"{plan.memory_mib}m",  # equal: no swap, which would make a broker slow instead of dead
        "log_config": _LOG,
        "network": plan.network,  # given also when None, lest testcontainers guess one
    }
    if plan.network is not None:
        more["networking_config"] = {
            plan.network: draft.get_docker_client().client.api.create_endpoint_config(
                aliases=[plan.alias] if plan.alias else []
            )
        }
        more["hostname"] = plan.alias
    if plan.joins is not None:
        more["network_mode"] = f"container:{plan.joins}"
    if plan.command is not None:
        more["entrypoint"] = list(plan.command)
    if plan.capabilities:
        more["cap_add"] = list(plan.capabilities)
    if plan.working_dir is not None:
        more["working_dir"] = plan.working_dir
    return draft.with_kwargs(**more)
