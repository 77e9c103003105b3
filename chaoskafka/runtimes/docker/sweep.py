"""Removes what dead runs left behind, by label alone.

In goes the engine; out comes a report of what was removed, and of what was left alone and why. A run lives while its
lock is held or its owner, named in its labels, still is a process of this machine; so neither a lost state directory
nor another user's is a reason to take a living run down. Runs that another machine started through the same engine
cannot be seen from here: they are touched only when asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chaoskafka.runtimes import locks
from chaoskafka.runtimes.docker import containers, network
from chaoskafka.runtimes.docker.engine import Engine, asking, connect
from chaoskafka.runtimes.docker.labels import OWNER, RUN, Owner
from chaoskafka.runtimes.docker.life import why_spared
from chaoskafka.runtimes.docker.removal import Removal, in_parallel


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    """A run that was not touched, and why."""

    run_id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """Names of removed objects by run, and the runs that were left alone."""

    removed: Mapping[str, Sequence[str]]
    left_alone: tuple[LeftAlone, ...]


@dataclass(slots=True, kw_only=True)
class _Found:
    """Everything of one run."""

    owners: set[str] = field(default_factory=set)
    containers: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)


def sweep(*, all_runs: bool = False) -> SweepReport:
    """Remove everything of dead runs that this machine started; with `all_runs`, also those of other machines.

    Never touches a run whose harness is seen to live. Blocks. Tries everything, then raises the first error
    (EnvironmentFailure, WaitTimeout) with the others as notes.
    """
    removed: dict[str, Sequence[str]] = {}
    left_alone = []
    with connect() as engine, Removal() as steps:
        found_runs = sorted(_by_run(engine).items())
        running = containers.running_ids(engine)
        for run_id, found in found_runs:
            why = why_alive(run_id, found.owners, all_runs=all_runs, running=running, is_local=engine.is_local)
            if why is not None:
                left_alone.append(LeftAlone(run_id=run_id, why=why))
                continue
            removed[run_id] = [*found.containers, *found.volumes, *found.networks]
            steps.add(f"removing run {run_id}", partial(_remove_run, engine, found))
    locks.forget_dead()
    return SweepReport(removed=removed, left_alone=tuple(left_alone))


def dead_runs(engine: Engine) -> Mapping[str, Sequence[str]]:
    """What a sweep would remove, by run; removes nothing. Blocks. Raises EnvironmentFailure."""
    running = containers.running_ids(engine)
    return {
        run_id: [*found.containers, *found.volumes, *found.networks]
        for run_id, found in sorted(_by_run(engine).items())
        if why_alive(run_id, found.owners, all_runs=False, running=running, is_local=engine.is_local) is None
    }


def why_alive(
    run_id: str, owners: set[str], *, all_runs: bool, running: Collection[str] = (), is_local: bool = True
) -> str | None:
    """Why a run is not to be touched; None: its harness is dead. The keywords are those of `life.why_spared`."""
    if locks.is_alive(run_id):
        return "its harness holds its lock"
    for text in sorted(owners):
        owner = Owner.parse(text)
        if owner is not None:
            why = why_spared(owner, all_runs=all_runs, running=running, is_local=is_local)
        else:
            why = None if all_runs else f"started elsewhere ({text}), so its life cannot be seen from here"
        if why is not None:
            return why
    return None


def _by_run(engine: Engine) -> dict[str, _Found]:
    filters = {"label": RUN}
    with asking("listing what chaoskafka created"):
        api = engine.api.api
        listed: tuple[tuple[str, list[dict[str, Any]]], ...] = (
            ("containers", api.containers(all=True, filters=filters)),
            ("volumes", api.volumes(filters=filters)["Volumes"] or []),
            ("networks", api.networks(filters=filters)),
        )
    runs: dict[str, _Found] = {}
    for kind, objects in listed:
        for each in objects:
            labels = each["Labels"]
            found = runs.setdefault(labels[RUN], _Found())
            found.owners.add(labels.get(OWNER, "unknown"))
            name = each["Names"][0].lstrip("/") if kind == "containers" else each["Name"]
            getattr(found, kind).append(name)
    return runs


def _remove_run(engine: Engine, found: _Found) -> None:
    groups: tuple[tuple[list[str], Callable[[Engine, str], None]], ...] = (
        (found.networks, network.remove_network),
        (found.volumes, network.remove_volume),
        (found.containers, containers.remove),
    )
    with Removal() as steps:
        for names, act in groups:
            steps.add("removing", partial(in_parallel, "removing", partial(act, engine), names))
