"""Stage: where one fault is played on the living cluster, whoever plays it: a run, a test, a person by hand.

In: a cluster, who asks its brokers, a ledger. Out: what `faults.Stage` promises.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from chaoskafka.clock import UNSTOPPABLE, Clock
from chaoskafka.cluster import ready
from chaoskafka.cluster.abilities import Cluster, Deed, Node
from chaoskafka.cluster.moves import Moves
from chaoskafka.cluster.moving import Move
from chaoskafka.cluster.resolution import Resolved, Situation, resolve
from chaoskafka.cluster.sights import BrokerView
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.undo import Owed, Undo
from chaoskafka.cluster.views import Views
from chaoskafka.errors import FaultFailed, NoTarget
from chaoskafka.faults import Proof
from chaoskafka.runtimes.ledger import Ledger, Unwritten

A = TypeVar("A", bound=Node)
R = TypeVar("R")


def who_is(
    target: Target, now: Sequence[BrokerView], *, cluster: Cluster, views: Views, rng: random.Random
) -> Resolved:
    """Who the target is, by what brokers just said; coordinators are asked for. Raises NoTarget."""
    groups = {group: views.coordinator(group) for group in target.groups}
    transactions = {key: views.transaction_coordinator(key) for key in target.transactions}
    return resolve(target, Situation.of(cluster.spec, now, groups, transactions), rng)


@dataclass(slots=True)
class TargetStage:
    """Where one fault is played: looks targets up on the living cluster, keeps the evidence, notes each undo."""

    cluster: Cluster
    views: Views
    rng: random.Random
    ledger: Ledger = field(default_factory=Unwritten)
    fault: int = 0  # its place in the plan
    word: str = ""
    spared: tuple[str, ...] = ()  # addresses that no fault of the network may cut off
    evidence: dict[str, object] = field(default_factory=dict)
    clock: Clock = UNSTOPPABLE
    moves: Moves | None = None  # None: leadership cannot be moved
    stopping: Callable[[], Mapping[int, Proof] | None] = lambda: None  # as `faults.Stage` says
    ready: Callable[[], None] = lambda: None  # called right before each deed

    @property
    def tag(self) -> str:
        return f"chaoskafka_{self.fault}"

    @property
    def spec(self) -> ClusterSpec:
        return self.cluster.spec

    @property
    def nodes(self) -> Mapping[int, Node]:
        return self.cluster.nodes

    def look(self) -> Sequence[BrokerView]:
        """As `faults.Stage` says."""
        return self.views.ask_all()

    def wait_whole(self, *, within_s: float) -> None:
        """As `faults.Stage` says."""
        ready.wait_recovered(self.views, self.cluster.spec, within_s=within_s, clock=self.clock)

    def move(self, wanted: Sequence[Move], *, within_s: float) -> Deed:
        """As `faults.Stage` says."""
        if self.moves is None:
            raise FaultFailed("here leadership cannot be moved")
        self.ready()
        return self.moves.make(wanted, within_s=within_s, clock=self.clock)

    def resolve(self, target: Target, ability: type[A]) -> tuple[A, ...]:
        """Who the target is now. Raises NoTarget when nobody fits, or when one who fits lacks the ability."""
        resolved = who_is(target, self.views.ask_all(), cluster=self.cluster, views=self.views, rng=self.rng)
        self.evidence = dict(resolved.evidence)
        chosen: list[A] = []
        for node_id in resolved.nodes:
            node = self.cluster.nodes[node_id]
            if not isinstance(node, ability):
                raise NoTarget(f"{target.text}: node {node_id} of this runtime has no ability {ability.__name__}")
            chosen.append(node)
        return tuple(chosen)

    def act(self, nodes: Sequence[A], deed: Callable[[A], R], *, undo: Undo, detail: str = "") -> list[R]:
        """As `faults.Stage` says."""
        owed = [Owed(fault=self.fault, word=self.word, node=node.spec.name, undo=undo, detail=detail) for node in nodes]

        def at_once(node: A) -> R:
            self.ready()
            return deed(node)

        return self.ledger.act(nodes, owed, at_once)
