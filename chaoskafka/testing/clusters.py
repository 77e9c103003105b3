"""The clusters of one pytest process: opened when a test needs one, kept for the next as its scope says, removed.

In: a spec, a scope, who asks. Out: a `Lease`. A kept cluster is lent again only if it is whole and is what is asked
for; else it is removed, a fresh one is opened, and `Lease.why` says for which reason.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum

from chaoskafka.clock import utc_now
from chaoskafka.cluster import forming, ready
from chaoskafka.cluster.abilities import Cluster
from chaoskafka.cluster.admin import TOPICS_S, Administration
from chaoskafka.cluster.controllers import controller_settings
from chaoskafka.cluster.forming import FORM_S
from chaoskafka.cluster.moves import Moves
from chaoskafka.cluster.security import User
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.users import let_in
from chaoskafka.cluster.views import Views
from chaoskafka.errors import ChaosKafkaError, Interrupted, NoAnswer, WaitTimeout
from chaoskafka.progress import Progress
from chaoskafka.runtime import Runtime
from chaoskafka.runtimes.ledger import RunLedger
from chaoskafka.testing.guard import Guard

WHOLE_S = 30.0  # for a cluster that a test healed to be whole: a second as a rule, and a fresh one takes 8 to 20 s
PLACES_MAX = 120  # client places of one cluster, which stay while it lives: runtime process has addresses for 250
PARTITIONS_MAX = 400  # of the topics that tests leave behind: each broker is asked about all of them, many times


class Scope(StrEnum):
    """How long a cluster is kept for the next test."""

    SESSION = "session"
    MODULE = "module"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a test asks for. `holder` names the module or the test that a cluster of that scope is kept for."""

    spec: ClusterSpec
    scope: Scope
    holder: str


@dataclass(slots=True, kw_only=True)
class Lease:
    """A cluster that stands, and what is known of it. `spoiled`: why nobody may have it after the test that has it."""

    run_id: str
    wanted: Wanted
    why: str  # it was opened
    cluster: Cluster
    views: Views
    admin: Administration
    moves: Moves
    ledger: RunLedger
    broker_settings: Mapping[int, Mapping[str, str]]
    tests: int = 0  # that had it
    places: int = 0  # that they launched
    partitions: int = 0  # that they made
    spoiled: str = ""
    _life: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        """Remove it. Blocks. Raises what the removal raises; what is owed to nodes that stay is kept for a heal."""
        gone = False
        try:
            self._life.close()
            gone = True
        finally:
            self.ledger.close(removed=gone)


class Clusters:
    """At most one cluster is kept: machines that run tests have room for few."""

    def __init__(self, runtime: Runtime, guard: Guard, progress: Progress) -> None:
        self.runtime = runtime
        self._guard, self._progress = guard, progress
        self._kept: Lease | None = None

    def lend(self, wanted: Wanted) -> Lease:
        """The kept cluster, or a fresh one. Blocks. Raises EnvironmentFailure, WaitTimeout, KeyboardInterrupt."""
        with self._guard.work():
            why = "it is the first one"
            if self._kept is not None:
                why = self._unfit(self._kept, wanted)
                if not why:
                    self._kept.tests += 1
                    return self._kept
                self._progress.note(f"the cluster before goes: {why}")
                self.end()
            self._kept = self.open(wanted, why)
            return self._kept

    def give_back(self, lease: Lease) -> None:
        """The test is over. A cluster of its own goes with it."""
        if lease.wanted.scope is Scope.FUNCTION:
            self.end()

    def module_ended(self, module: str) -> None:
        """No more tests of that module come."""
        kept = self._kept
        if kept is not None and kept.wanted.scope is Scope.MODULE and kept.wanted.holder == module:
            self.end()

    def end(self) -> None:
        """Remove the kept cluster. Blocks; no signal cuts it short."""
        kept, self._kept = self._kept, None
        if kept is not None:
            with self._guard.undisturbed():
                kept.close()

    def open(self, wanted: Wanted, why: str) -> Lease:
        """A cluster that has formed, for whoever closes it. Blocks."""
        runtime, spec, clock = self.runtime, wanted.spec, self._guard.clock
        with self._guard.work(), ExitStack() as life:
            self._progress.note(f"a fresh cluster: {why}")
            run_id = _run_id()
            ledger = RunLedger(run_id)
            opens = runtime.prepare(spec, self._progress.note, clock)
            clock.pause(0)  # what preparing did not notice
            cluster = life.enter_context(opens(run_id=run_id, clock=clock, keep=False))
            views = runtime.views(cluster.host_addresses(), cluster.security(User.OBSERVER))
            let_in(cluster, within_s=FORM_S, clock=clock)
            forming.wait_formed(cluster, views, within_s=FORM_S, clock=clock)
            admin = runtime.admin(cluster.host_addresses().values(), cluster.security(User.ADMIN))
            settings = {
                **admin.broker_settings(spec.broker_ids),
                **controller_settings(cluster, within_s=TOPICS_S, clock=clock),
            }
            return Lease(
                run_id=run_id,
                wanted=wanted,
                why=why,
                cluster=cluster,
                views=views,
                admin=admin,
                moves=Moves(runtime.views(cluster.host_addresses(), cluster.security(User.ADMIN))),
                ledger=ledger,
                broker_settings=settings,
                tests=1,
                _life=life.pop_all(),
            )

    def _unfit(self, kept: Lease, wanted: Wanted) -> str:
        """Why the kept cluster is not for this test; empty: it is."""
        had = kept.wanted
        reasons: list[tuple[bool, str]] = [
            (bool(kept.spoiled), kept.spoiled),
            (had.spec != wanted.spec, "this test asks for a cluster of another kind"),
            (wanted.scope is Scope.FUNCTION, "this test asks for a cluster of its own"),
            (
                (had.scope, had.holder) != (wanted.scope, wanted.holder),
                f"the one before was {had.scope} {had.holder}'s",
            ),
            (kept.places >= PLACES_MAX, f"the one before has {kept.places} client places of earlier tests"),
            (kept.partitions >= PARTITIONS_MAX, f"the one before has {kept.partitions} partitions of earlier tests"),
        ]
        return next((text for holds, text in reasons if holds), "") or self._broken(kept)

    def _broken(self, kept: Lease) -> str:
        try:
            ready.wait_recovered(kept.views, kept.wanted.spec, within_s=WHOLE_S, clock=self._guard.clock)
        except (WaitTimeout, NoAnswer) as unwhole:
            return f"the one before was not whole: {unwhole}"
        except Interrupted:
            raise
        except ChaosKafkaError as lost:
            return f"the one before does not answer: {lost}"
        return ""


def _run_id() -> str:
    return f"t{utc_now().strftime('%Y%m%dt%H%M%S')}-{secrets.token_hex(3)}"
