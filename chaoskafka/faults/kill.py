"""Kill: Kafka's process on a node dies as by the kernel (SIGKILL), and is started again when the fault is left.

In goes a target; while it bites, connections to the node are reset and new ones refused at once. Its address and disk
stay. The deed goes through a signal; the proof goes another way: a stranger knocks on the node's port from inside its
network, and the runtime's own account of the process says 137.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaoskafka.clock import Deadline
from chaoskafka.cluster.abilities import CanKill, Node, NodeState
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.undo import Undo
from chaoskafka.faults import Injected, Proof, Stage
from chaoskafka.faults.ending import SIGKILLED, see_ended
from chaoskafka.faults.playing import (
    Trouble,
    check_seconds,
    injected,
    on_each,
    prove_each,
    see_alive,
    states_of_running,
    window,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """SIGKILL Kafka on every node of `target`.

    `for_s` is kept by whoever plays the fault. Entering blocks up to `settle_s` and raises NoTarget, or FaultFailed
    when a node was down already or a kill was not seen to bite; leaving blocks up to `heal_s` and raises FaultFailed
    when a node does not come back. A broker opens its ports only once the controller took it in again, which after a
    kill waits for the old session to end (broker.session.timeout.ms, 9 s by default).
    """

    target: Target  # who is hit, looked up when the fault is injected
    for_s: float | None = None  # how long it stays dead; a plan cannot do without
    settle_s: float = 15.0  # for the kill to show: the engine notices a death after up to 0.8 s, more under load
    heal_s: float = 120.0  # for the node to answer again

    needs: ClassVar[tuple[type[Node], ...]] = (CanKill,)

    def __post_init__(self) -> None:
        check_seconds(self, "for_s", "settle_s", "heal_s")

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        chosen = stage.resolve(self.target, CanKill)
        before = states_of_running(f"kill {self.target.text!r}", chosen)
        with window(
            strike=lambda: self._kill(stage, chosen, before),
            heal=lambda: self._heal(chosen, before),
            take_back=lambda: self._start_all(chosen),
        ) as hit:
            yield hit

    def _kill(self, stage: Stage, chosen: Sequence[CanKill], before: Mapping[int, NodeState]) -> Injected:
        deeds = stage.act(chosen, lambda node: node.kill(), undo=Undo.START)
        deadline = Deadline.after(self.settle_s)
        proof = {
            node.spec.name: see_ended(node, deed, before[node.spec.node_id], deadline, SIGKILLED)
            for node, deed in zip(chosen, deeds, strict=True)
        }
        return injected(chosen, deeds, proof)

    def _heal(self, chosen: Sequence[CanKill], before: Mapping[int, NodeState]) -> Proof:
        deadline = Deadline.after(self.heal_s)
        # All starts before the first proof: two controllers of three can only answer together.
        trouble = self._start_all(chosen)
        return prove_each(
            f"kill {self.target.text!r}",
            chosen,
            lambda node: see_alive(node, before[node.spec.node_id], deadline),
            trouble,
        )

    def _start_all(self, chosen: Sequence[CanKill]) -> Trouble:
        return on_each(chosen, lambda node: node.start(within_s=self.heal_s))
