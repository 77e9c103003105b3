"""Crash loop: Kafka is killed, and killed again each time it has just been started. An action.

In goes a target. Out: a proof of every death; on leaving it is started once more and seen to answer. No process lives
long enough to be let in again, so each of its deaths finds the log as the one before left it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

from chaoskafka.cluster.abilities import CanKill, Node, NodeState
from chaoskafka.cluster.targets import Target
from chaoskafka.faults import Injected, Stage
from chaoskafka.faults.ending import bring_back, kill_each, start_all
from chaoskafka.faults.playing import (
    check_seconds,
    states_of_running,
    window,
)

TIMES_MAX = 100  # a round takes some 3 s: five minutes of crashing


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashLoop:
    """Kill Kafka on every node of `target`, then `times` more, each time `up_s` after it was started.

    Entering blocks for all rounds, each up to `heal_s` and `settle_s`; leaving blocks up to `heal_s`. Raises NoTarget,
    and FaultFailed when a node was down already, a death was not seen, or a node does not come back in the end.
    """

    target: Target  # who crashes, looked up when the fault is injected
    times: int = 3  # deaths after the first one
    up_s: float = 1.0  # how long each new process lives: a JVM starts in 1 to 3 s, and answers after 3 to 5 s
    settle_s: float = 15.0  # for each death to show
    heal_s: float = 120.0  # for each start, and in the end for the node to answer

    needs: ClassVar[tuple[type[Node], ...]] = (CanKill,)

    def __post_init__(self) -> None:
        check_seconds(self, "up_s", "settle_s", "heal_s")
        if not 1 <= self.times <= TIMES_MAX:
            raise ValueError(f"times: {self.times} is not between 1 and {TIMES_MAX}")

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        what = f"crash_loop {self.target.text!r}"
        chosen = stage.resolve(self.target, CanKill)
        latest = dict(states_of_running(what, chosen))
        with window(
            strike=lambda: self._crash(stage, chosen, latest),
            heal=lambda: bring_back(what, chosen, latest, self.heal_s),
            take_back=lambda: start_all(chosen, self.heal_s),
        ) as hit:
            yield hit

    def _crash(self, stage: Stage, chosen: Sequence[CanKill], latest: dict[int, NodeState]) -> Injected:
        """`latest`: each node's newest process, kept up to date."""
        first = kill_each(stage, chosen, latest, settle_s=self.settle_s)
        again = []
        for _ in range(self.times):
            for node in chosen:
                node.start(within_s=self.heal_s)
                latest[node.spec.node_id] = node.state()
            stage.clock.pause(self.up_s)
            again.append(kill_each(stage, chosen, latest, settle_s=self.settle_s).proof)
        return replace(first, proof={**first.proof, "again": again})
