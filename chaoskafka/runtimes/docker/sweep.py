"""Heals what dead runs left behind: takes back what their ledgers still owe, then removes everything by label.

In goes the engine; out comes a report of what was undone and removed, and of what was left alone and why. A run lives
while its lock is held or its owner, named in its labels, still is a process of this machine; so neither a lost state
directory nor another user's is a reason to take a living run down. Runs that another machine started through the same
engine cannot be seen from here: they are touched only when asked for. Labels alone suffice; a ledger that is lost or
spoilt only shortens the report.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from docker.models.containers import Container

from chaoskafka.clock import UNSTOPPABLE
from chaoskafka.cluster.netrules import POWER, lift_batch
from chaoskafka.cluster.undo import Owed, Undo
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes import locks
from chaoskafka.runtimes.docker import containers, netns, network
from chaoskafka.runtimes.docker.engine import Engine, asking, connect
from chaoskafka.runtimes.docker.freeze import thaw
from chaoskafka.runtimes.docker.labels import NODE, OWNER, ROLE, RUN, Part
from chaoskafka.runtimes.ledger import Point, announce, ledger_path, read_ledger
from chaoskafka.runtimes.life import why_spared
from chaoskafka.runtimes.owner import Owner
from chaoskafka.runtimes.removal import Removal, in_parallel
from chaoskafka.runtimes.report import LeftAlone, SweepReport

# A harness that was killed may have asked for something that the engine finishes only now: creating a container took up
# to a second on a busy machine. So a look that found a dead run is followed by another, until one finds none.
AGAIN_S = 1.5
LOOKS_MAX = 20  # what still appears after half a minute is not an echo of a dead run


@dataclass(slots=True, kw_only=True)
class _Found:
    """Everything of one run."""

    owners: set[str] = field(default_factory=set)
    containers: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)  # node -> part -> container
    stands: bool = False  # it is to stay: what dead processes broke is taken back, nothing is removed

    @property
    def names(self) -> list[str]:
        return [*self.containers, *self.volumes, *self.networks]


def sweep(*, all_runs: bool = False, keep: bool = False) -> SweepReport:
    """Heal dead runs that this machine started; with `all_runs`, also those of other machines.

    With `keep` only what they broke is taken back, as it always is with clusters that stand. Never touches a run whose
    harness is seen to live. Blocks. Tries every run, then raises the first error (EnvironmentFailure, WaitTimeout) with
    the others as notes.
    """
    report = SweepReport()
    with connect() as engine:
        for _ in range(1 if keep else LOOKS_MAX):
            dead = _look(engine, report, all_runs=all_runs)
            if not dead:
                break
            for found in dead.values():
                found.stands |= keep
            with Removal() as steps:
                for run_id, found in dead.items():
                    steps.add(f"healing run {run_id}", partial(_heal, engine, run_id, found, report))
            UNSTOPPABLE.pause(AGAIN_S)
    return report


def _look(engine: Engine, report: SweepReport, *, all_runs: bool) -> dict[str, _Found]:
    """Everything of every dead run, by its id; those that are left alone are told."""
    dead: dict[str, _Found] = {run_id: _Found() for run_id in sorted(locks.dead_runs())}
    left_alone = []
    found_runs = sorted(_by_run(engine).items())
    running = containers.running_ids(engine)
    for run_id, found in found_runs:
        why = why_alive(run_id, found.owners, all_runs=all_runs, running=running, is_local=engine.is_local)
        if why is None and found.stands and run_id not in dead:
            why = f"it stands until: chaoskafka down {run_id}"
        if why is None:
            dead[run_id] = found
        else:
            dead.pop(run_id, None)
            left_alone.append(LeftAlone(run_id=run_id, why=why))
    report.left_alone = tuple(left_alone)
    return dead


def _heal(engine: Engine, run_id: str, found: _Found, report: SweepReport) -> None:
    """Each step leaves the earlier traces of the run, so that whoever is killed here is followed by another heal."""
    undone, failed = _undo(engine, run_id, found)
    if undone:
        report.undone.setdefault(run_id, []).extend(undone)
    announce(Point.HEAL_BEFORE_REMOVAL)
    if found.stands and failed:
        raise EnvironmentFailure(f"cluster {run_id}: {'; '.join(failed)}", mend=f"chaoskafka down {run_id}")
    if not found.stands:
        removed = report.removed.setdefault(run_id, [])
        removed.extend(name for name in found.names if name not in removed)
        _remove(engine, found)
    announce(Point.HEAL_BEFORE_FORGETTING)
    locks.forget(run_id)


def _undo(engine: Engine, run_id: str, found: _Found) -> tuple[list[str], list[str]]:
    """Take back what the ledger still owes, last deed first; returns what to tell, and of it what failed.

    What cannot be taken back is no reason not to remove it.
    """
    if not locks.RUN_ID.fullmatch(run_id):
        return [], []
    ledger = read_ledger(ledger_path(run_id))
    told = [f"{ledger.problem}; healed by labels"] if ledger.problem else []
    failed = []
    for owed in reversed(ledger.owed):
        announce(Point.HEAL_BEFORE_UNDO)
        what = f"{owed.word} of {owed.node}"
        try:
            told.append(f"{what}: {_take_back(engine, found, owed)}")
        except EnvironmentFailure as wrong:
            failed.append(f"{what}: could not be undone: {wrong.problem}")
        announce(Point.HEAL_AFTER_UNDO)
    return told + failed, failed


def _take_back(engine: Engine, found: _Found, owed: Owed) -> str:
    parts = found.nodes.get(owed.node, {})
    if not {Part.HOST, Part.KAFKA} <= parts.keys():
        return "nothing is left of it"
    return _UNDO[owed.undo](engine, parts, owed)


def _start(engine: Engine, parts: _Parts, _: Owed) -> str:
    kafka = parts[Part.KAFKA]
    with asking(f"starting {kafka}"):
        if engine.api.api.inspect_container(kafka)["State"]["Running"]:
            return "it runs"
        engine.api.api.start(kafka)
        state = engine.api.api.inspect_container(kafka)["State"]
    return "started again" if state["Running"] else f"started, and ended with {state['ExitCode']}"


def _resume(engine: Engine, parts: _Parts, owed: Owed) -> str:
    return f"resumed by {thaw(engine, _container(engine, parts[Part.KAFKA]), owed.node).means}"


def _lift(engine: Engine, parts: _Parts, owed: Owed) -> str:
    try:
        batch = lift_batch(owed.detail)
    except ValueError as foreign:  # a ledger that was spoilt must not lead to what is not ours
        raise EnvironmentFailure(str(foreign)) from foreign
    netns.run_rules(engine, _container(engine, parts[Part.HOST]), batch, owed.node)
    return f"lifted {owed.detail}"


def _power_on(engine: Engine, parts: _Parts, owed: Owed) -> str:
    return f"{_lift(engine, parts, replace(owed, detail=POWER))}, {_start(engine, parts, owed)}"


def _container(engine: Engine, name: str) -> Container:
    with asking(f"looking for {name}"):
        return engine.api.containers.get(name)


_Parts = Mapping[str, str]  # of one node: the name of each container
_UNDO: Mapping[Undo, Callable[[Engine, _Parts, Owed], str]] = {
    Undo.START: _start,
    Undo.RESUME: _resume,
    Undo.POWER_ON: _power_on,
    Undo.LIFT: _lift,
}


def dead_runs(engine: Engine) -> dict[str, list[str]]:
    """What a sweep would remove from the engine, by run; removes nothing. Blocks. Raises EnvironmentFailure."""
    dead = _look(engine, SweepReport(), all_runs=False)
    return {run_id: found.names for run_id, found in dead.items() if found.names and not found.stands}


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
            found.stands |= labels.get(ROLE) == Part.STANDING
            if kind == "containers" and NODE in labels:
                found.nodes.setdefault(labels[NODE], {})[labels.get(ROLE, "")] = name
    return runs


def remove_run(engine: Engine, run_id: str) -> list[str]:
    """Remove everything of one run, whoever holds it; returns the names. Blocks. Raises as `sweep` does."""
    found = _by_run(engine).get(run_id, _Found())
    _remove(engine, found)
    return found.names


def _remove(engine: Engine, found: _Found) -> None:
    groups: tuple[tuple[list[str], Callable[[Engine, str], None]], ...] = (
        (found.networks, network.remove_network),
        (found.volumes, network.remove_volume),
        (found.containers, containers.remove),
    )
    with Removal() as steps:
        for names, act in groups:
            steps.add("removing", partial(in_parallel, "removing", partial(act, engine), names))
