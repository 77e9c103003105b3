"""Rolling restart: a person stops and starts every node, one after the other, as an upgrade does. An action.

Brokers first, then dedicated controllers, the active controller last of all. In goes what has to hold before the next
one; out comes a proof of each stop and start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal

from chaoskafka.clock import NS_PER_S, Deadline
from chaoskafka.cluster import sights
from chaoskafka.cluster.abilities import CanKill, CanStop, Node, NodeState
from chaoskafka.faults import Injected, Proof, Stage
from chaoskafka.faults.ending import GRACE_S, CanEnd, start_all, stop_each
from chaoskafka.faults.playing import (
    check_seconds,
    prove_each,
    see_alive,
    states_of_running,
    window,
)

WHAT = "rolling_restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRestart:
    """Stop and start every node in turn, the active controller last.

    Entering blocks for all nodes: each up to `grace_s`, twice `heal_s` and `gate_s`. Raises FaultFailed when a node was
    down already, does not stop by itself or does not come back, WaitTimeout when the gate stays shut.
    """

    gate: Literal["isr_full", "time"] = "isr_full"  # before the next node: all in sync again, or only time
    every_s: float = 10.0  # with gate time: from a node's start to the next one's stop
    gate_s: float = 120.0  # with gate isr_full: for the cluster to be whole again
    grace_s: float = GRACE_S  # for each controlled shutdown; what takes longer was no stop
    settle_s: float = 15.0  # for the end of each process to show
    heal_s: float = 120.0  # for each node to be started, and again for it to answer

    needs: ClassVar[tuple[type[Node], ...]] = (CanStop, CanKill)

    def __post_init__(self) -> None:
        check_seconds(self, "gate_s", "grace_s", "settle_s", "heal_s")
        if self.every_s < 0:
            raise ValueError(f"every_s: {self.every_s} is below 0")

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        nodes = [node for node in stage.nodes.values() if isinstance(node, CanEnd)]
        before = states_of_running(WHAT, nodes)
        hit: list[CanEnd] = []
        with window(
            strike=lambda: self._roll(stage, nodes, before, hit),
            heal=lambda: self._verify(nodes, before),
            take_back=lambda: start_all(hit, self.heal_s),
        ) as injected:
            yield injected

    def _roll(
        self, stage: Stage, nodes: Sequence[CanEnd], before: Mapping[int, NodeState], hit: list[CanEnd]
    ) -> Injected:
        """`hit` takes up each node before it is touched."""
        left, proof, acted_ns = list(nodes), dict[str, object](), list[int]()
        while left:
            if hit:
                self._wait_for_gate(stage)
            node, under_replicated = _next(stage, left)
            left.remove(node)
            hit.append(node)
            stopped = stop_each(stage, [node], before, grace_s=self.grace_s, settle_s=self.settle_s)
            node.start(within_s=self.heal_s)
            acted_ns.append(stopped.acted_ns)
            name = node.spec.name
            seen = stopped.proof[name]
            after_s = (stopped.acted_ns - acted_ns[0]) / NS_PER_S
            proof[name] = {"stop": seen, "after_s": after_s, "under_replicated_before": under_replicated}
            if self.gate == "isr_full":
                see_alive(node, before[node.spec.node_id], Deadline.after(self.heal_s))
        if self.gate == "isr_full":
            self._wait_for_gate(stage)
        return Injected(
            targets=tuple(node.spec.node_id for node in nodes), acted_ns=acted_ns[0], proof={"nodes": proof}
        )

    def _wait_for_gate(self, stage: Stage) -> None:
        if self.gate == "time":
            stage.clock.pause(self.every_s)
        else:
            stage.wait_whole(within_s=self.gate_s)

    def _verify(self, nodes: Sequence[CanEnd], before: Mapping[int, NodeState]) -> Proof:
        deadline = Deadline.after(self.heal_s)
        return prove_each(WHAT, nodes, lambda node: see_alive(node, before[node.spec.node_id], deadline), [])


def _next(stage: Stage, left: Sequence[CanEnd]) -> tuple[CanEnd, int]:
    """Who comes next, and how many partitions lack a replica right before."""
    views = stage.look()
    active = sights.active_controller(views)
    node = min(left, key=lambda each: (each.spec.node_id == active, not each.spec.is_broker, each.spec.node_id))
    return node, sum(not seen.has_full_isr for seen in sights.leadership(views).values())
