"""Looking around by hand: a cluster that stands between commands, what it looks like, one fault at a time.

In: what to start, or the id of a cluster that stands. Out: a marked cluster, a `Status`, a fault played and healed. The
same contracts as under `run`, ledger included, so whoever is killed here is healed by the next.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from chaoskafka.clock import Clock
from chaoskafka.cluster import forming
from chaoskafka.cluster.abilities import NodeState
from chaoskafka.cluster.admin import TOPICS_S, make_topics
from chaoskafka.cluster.forming import FORM_S
from chaoskafka.cluster.moves import Moves
from chaoskafka.cluster.security import Protection, User
from chaoskafka.cluster.sights import BrokerView
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.undo import Owed
from chaoskafka.errors import UsageError
from chaoskafka.faults import Fault, Injected
from chaoskafka.runtime import DOCKER
from chaoskafka.runtimes.docker import standing
from chaoskafka.runtimes.ledger import RunLedger, ledger_path, read_ledger
from chaoskafka.runtimes.locks import is_alive, run_lock
from chaoskafka.scenario.bind import BindError, bind, plain
from chaoskafka.scenario.catalogue import did_you_mean
from chaoskafka.scenario.model import Named, Scenario
from chaoskafka.stage import TargetStage

Note = Callable[[str], None]

FORMAT = 1  # of a standing cluster's facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A cluster that stands."""

    run_id: str
    spec: ClusterSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a standing cluster looks like now. `owed`: what faults are still to be undone; `held`: by whom lives."""

    cluster: Standing
    states: Mapping[str, NodeState]  # by the node's name
    views: tuple[BrokerView, ...]
    bootstrap: tuple[str, ...]  # as reached from here
    owed: tuple[Owed, ...]
    held: bool  # a process is at it: a fault goes on


def up(scenario: Scenario, *, run_id: str, clock: Clock, note: Note) -> tuple[str, ...]:
    """Start the scenario's cluster with its topics, and leave it standing; returns its bootstrap servers.

    Blocks until it has formed. A start that fails or is stopped removes what it made. Raises UsageError, Interrupted,
    WaitTimeout, EnvironmentFailure.
    """
    spec = scenario.cluster
    if spec.security is not Protection.PLAINTEXT:
        raise UsageError(
            f"cluster.security: {spec.security}: credentials are never written down, so no later command could get in;"
            f" a cluster that stands is {Protection.PLAINTEXT}"
        )
    if run_id in standing.standing():
        raise UsageError(f"cluster {run_id} stands already; see: chaoskafka status {run_id}")
    opens = DOCKER.prepare(spec, note, clock)
    with opens(run_id=run_id, clock=clock, keep=True) as cluster:
        views = DOCKER.views(cluster.host_addresses(), cluster.security(User.OBSERVER))
        forming.wait_formed(cluster, views, within_s=FORM_S, clock=clock)
        admin = DOCKER.admin(cluster.host_addresses().values(), cluster.security(User.ADMIN))
        make_topics(admin, views, scenario.topics, within_s=TOPICS_S, clock=clock)
        standing.mark(run_id, json.dumps({"format": FORMAT, "cluster": plain(spec)}))
        return tuple(map(str, cluster.host_addresses().values()))


def find(run_id: str | None) -> Standing:
    """The cluster of that id, or the only one. Raises UsageError when there is none, or several to choose from."""
    found = standing.standing()
    if not found:
        raise UsageError("no cluster stands; start one with: chaoskafka up")
    if run_id is None and len(found) > 1:
        raise UsageError(f"several clusters stand; name one of {', '.join(sorted(found))}")
    chosen = run_id if run_id is not None else next(iter(found))
    if chosen not in found:
        raise UsageError(f"no cluster {chosen!r} stands{did_you_mean(chosen, found)}")
    return Standing(run_id=chosen, spec=_spec(chosen, found[chosen]))


def status(cluster: Standing) -> Status:
    """Ask the runtime of every node, and every broker of all it knows. Blocks up to some seconds for silent ones.

    Raises EnvironmentFailure.
    """
    with standing.attach(cluster.run_id, cluster.spec) as attached:
        addresses = attached.host_addresses()
        views = DOCKER.views(addresses, attached.security(User.OBSERVER)).ask_all()
        return Status(
            cluster=cluster,
            states={node.spec.name: node.state() for node in attached.nodes.values()},
            views=tuple(views),
            bootstrap=tuple(map(str, addresses.values())),
            owed=read_ledger(ledger_path(cluster.run_id)).owed,
            held=is_alive(cluster.run_id),
        )


@contextmanager
def injected(
    cluster: Standing, fault: Named[Fault], *, seed: int, clock: Clock
) -> Iterator[tuple[Injected, TargetStage]]:
    """One fault on a standing cluster: bites when entered, is healed when left. One process at a time.

    Raises UsageError while another is at it or a dead one's fault is not undone yet; and what the fault raises.
    """
    if is_alive(cluster.run_id):
        raise UsageError(f"cluster {cluster.run_id}: another command is at it; see: chaoskafka status {cluster.run_id}")
    with run_lock(cluster.run_id), standing.attach(cluster.run_id, cluster.spec) as attached:
        if left := read_ledger(ledger_path(cluster.run_id)).owed:
            raise UsageError(
                f"cluster {cluster.run_id}: {left[0].word} of {left[0].node} was never undone: chaoskafka heal"
            )
        ledger = RunLedger(cluster.run_id)
        views = DOCKER.views(attached.host_addresses(), attached.security(User.OBSERVER))
        rng = random.Random(seed)  # noqa: S311 - chance, not secrecy
        moves = Moves(DOCKER.views(attached.host_addresses(), attached.security(User.ADMIN)))
        stage = TargetStage(attached, views, rng, ledger=ledger, word=fault.word, clock=clock, moves=moves)
        hit: Injected | None = None
        try:
            with fault.value.inject(stage) as hit:
                yield hit, stage
        finally:
            if hit is not None and hit.heal_proof is not None:
                ledger.tick_all()
            ledger.close(removed=False)  # what was not seen to heal stays on disk, for a heal


def down(cluster: Standing) -> list[str]:
    """Remove all of it, whatever was broken; returns the names. Blocks. Raises UsageError while somebody is at it."""
    with run_lock(cluster.run_id):
        names = standing.take_down(cluster.run_id)
        ledger_path(cluster.run_id).unlink(missing_ok=True)
        return names


def _spec(run_id: str, facts: str) -> ClusterSpec:
    try:
        found: Any = json.loads(facts)
        if found["format"] == FORMAT:
            return bind(ClusterSpec, found["cluster"])
    except (ValueError, KeyError, TypeError, BindError) as unreadable:
        raise UsageError(f"cluster {run_id}: what it was made from cannot be read: {unreadable}") from unreadable
    raise UsageError(f"cluster {run_id} was made by another version of chaoskafka (format {found['format']})")
