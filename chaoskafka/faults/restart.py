"""Restart: a person stops Kafka and starts it again at once. An action: the work is done on entering.

In goes a target. Out: a proof that the old process ended by itself and a new one runs; on leaving, that it answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

from chaoskafka.clock import Deadline
from chaoskafka.cluster.abilities import CanKill, CanStop, Node, NodeState
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed
from chaoskafka.faults import Injected, Proof, Stage
from chaoskafka.faults.ending import GRACE_S, CanEnd, start_all, stop_each
from chaoskafka.faults.playing import (
    check_seconds,
    note_trouble,
    prove_each,
    see_alive,
    states_of_running,
    window,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """Stop Kafka on every node of `target` and start it again at once.

    The controllers refuse the new process until the lease of the old one has run out (broker.session.timeout.ms, 9 s by
    default), so a broker is away for longer than its start takes. Entering blocks up to `grace_s` and `settle_s` and
    for the start; leaving blocks up to `heal_s`. Raises NoTarget and FaultFailed as `stop` does.
    """

    target: Target  # who is restarted, looked up when the fault is injected; several at once
    grace_s: float = GRACE_S  # for the controlled shutdown; what takes longer was no stop
    settle_s: float = 15.0  # for the end of the process to show
    heal_s: float = 120.0  # for the new process to be started, and again for it to answer

    needs: ClassVar[tuple[type[Node], ...]] = (CanStop, CanKill)

    def __post_init__(self) -> None:
        check_seconds(self, "grace_s", "settle_s", "heal_s")

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        what = f"restart {self.target.text!r}"
        chosen = stage.resolve(self.target, CanEnd)
        before = states_of_running(what, chosen)
        with window(
            strike=lambda: self._restart(what, stage, chosen, before),
            heal=lambda: self._heal(what, chosen, before),
            take_back=lambda: start_all(chosen, self.heal_s),
        ) as hit:
            yield hit

    def _restart(self, what: str, stage: Stage, chosen: Sequence[CanEnd], before: Mapping[int, NodeState]) -> Injected:
        hit = stop_each(stage, chosen, before, grace_s=self.grace_s, settle_s=self.settle_s)
        if trouble := start_all(chosen, self.heal_s):
            failed = FaultFailed(f"{what}: it stopped and did not start: {trouble[0]}")
            note_trouble(failed, trouble[1:])
            raise failed from trouble[0]
        return replace(hit, proof={**hit.proof, "restarted": [node.spec.name for node in chosen]})

    def _heal(self, what: str, chosen: Sequence[CanEnd], before: Mapping[int, NodeState]) -> Proof:
        deadline = Deadline.after(self.heal_s)
        return prove_each(what, chosen, lambda node: see_alive(node, before[node.spec.node_id], deadline), [])
