"""Pause: all of Kafka's process on a node stands still, its sockets stay open, and it runs on when the fault is left.

In goes a target; while it bites, the kernel accepts connections for the node and nobody answers over them, as with a
machine that hangs, a virtual machine that is moved, or a very long garbage collection. What clients sent meanwhile lies
in its sockets, and is served when it runs on: by a process that does not know yet that the others went on without it.
The deed is a signal or the engine's; the proof goes another way: a stranger asks the node over its own network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaoskafka.clock import Deadline, wait_until
from chaoskafka.cluster.abilities import CanPause, Deed, Knock, Node, NodeState
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.undo import Undo
from chaoskafka.faults import Injected, Proof, Stage
from chaoskafka.faults.playing import (
    KNOCKS_S,
    Trouble,
    check_seconds,
    injected,
    on_each,
    prove_each,
    see_bite,
    spoken_port,
    states_of_running,
    window,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Freeze Kafka on every node of `target`, and let it run on.

    `for_s` is kept by whoever plays the fault. Entering blocks up to `settle_s` and raises NoTarget, or FaultFailed
    when a node was down or frozen already or still answers; leaving blocks up to `heal_s` and raises FaultFailed when
    a node does not answer again as the same process.
    """

    target: Target  # who is hit, looked up when the fault is injected
    for_s: float | None = None  # how long it stands still; a plan may say `until` instead
    settle_s: float = 15.0  # for the freeze to show: a knock that waits in vain takes 1 s, more under load
    heal_s: float = 30.0  # for the node to answer again: 0.3 s measured, more under load

    needs: ClassVar[tuple[type[Node], ...]] = (CanPause,)

    def __post_init__(self) -> None:
        check_seconds(self, "for_s", "settle_s", "heal_s")

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        chosen = stage.resolve(self.target, CanPause)
        before = states_of_running(f"pause {self.target.text!r}", chosen)
        with window(
            strike=lambda: self._pause(stage, chosen, before),
            heal=lambda: self._heal(chosen, before),
            take_back=lambda: _resume_all(chosen),
        ) as hit:
            yield hit

    def _pause(self, stage: Stage, chosen: Sequence[CanPause], before: Mapping[int, NodeState]) -> Injected:
        deeds = stage.act(chosen, lambda node: node.pause(), undo=Undo.RESUME)
        deadline = Deadline.after(self.settle_s)
        proof = {
            node.spec.name: self._see_frozen(node, deed, before[node.spec.node_id], deadline)
            for node, deed in zip(chosen, deeds, strict=True)
        }
        return injected(chosen, deeds, proof)

    def _see_frozen(self, node: CanPause, deed: Deed, before: NodeState, deadline: Deadline) -> Proof:
        port = spoken_port(node)

        def bites(seen: tuple[Knock, NodeState]) -> bool:
            knock, state = seen
            return knock is Knock.MUTE and state.frozen and state.started_at == before.started_at

        knock, state = see_bite(
            deed,
            f"the pause of {node.spec.name} to show",
            read=lambda: (node.knock(port, speak=True, until=Knock.MUTE), node.state()),
            good=bites,
            deadline=deadline,
            describe=lambda seen: f"port {port} {seen[0]}, {seen[1]}",
        )
        return {
            "means": deed.means,
            "acted_ns": deed.acted_ns,
            "port": port,
            "knock": knock.value,
            "frozen": state.frozen,
            "process_started_at": before.started_at,
        }

    def _heal(self, chosen: Sequence[CanPause], before: Mapping[int, NodeState]) -> Proof:
        deadline = Deadline.after(self.heal_s)
        trouble = _resume_all(chosen)
        return prove_each(
            f"pause {self.target.text!r}",
            chosen,
            lambda node: _see_awake(node, before[node.spec.node_id], deadline),
            trouble,
        )


def _resume_all(chosen: Sequence[CanPause]) -> Trouble:
    return on_each(chosen, lambda node: node.resume())


def _see_awake(node: CanPause, before: NodeState, deadline: Deadline) -> Proof:
    """The same process answers what it is asked. Blocks. Raises WaitTimeout."""
    port = spoken_port(node)
    knock, state = wait_until(
        f"{node.spec.name} to answer again as the same process",
        read=lambda: (node.knock(port, speak=True, within_s=KNOCKS_S, until=Knock.ANSWERED), node.state()),
        good=lambda seen: seen[0] is Knock.ANSWERED and not seen[1].frozen and seen[1].started_at == before.started_at,
        within_s=deadline.left_s(),
        describe=lambda seen: f"port {port} {seen[0]}, {seen[1]}",
    )
    return {"port": port, "knock": knock.value, "frozen": state.frozen, "process_started_at": state.started_at}
