"""Power off: a machine vanishes with all that runs on it; nobody is told, and what is left of it is its disk.

In goes a target; while it bites, packets to the node get no answer, not even a reset: connections hang, and new ones
run into their timeouts. First the network falls silent, then the process dies. On leaving the machine boots: its
network is there at once, and Kafka is started on the disk as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaoskafka.clock import Deadline
from chaoskafka.cluster.abilities import CanPowerOff, Deed, Knock, Node, NodeState
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.undo import Undo
from chaoskafka.errors import FaultFailed
from chaoskafka.faults import Injected, Proof, Stage
from chaoskafka.faults.playing import (
    Trouble,
    check_seconds,
    injected,
    on_each,
    prove_each,
    see_alive,
    see_bite,
    spoken_port,
    states_of_running,
    window,
)

SILENCE_S = 0.5  # a connect within the cluster takes a millisecond, on a starved machine 0.1 s: so long is silence


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerOff:
    """Take the power from the machine of every node of `target`, and boot it again.

    `for_s` is kept by whoever plays the fault. Entering blocks up to `settle_s` and raises NoTarget, or FaultFailed
    when a node was down or frozen already, or still gives an answer of any kind; leaving blocks up to `heal_s` and
    raises FaultFailed when a node does not come back.
    """

    target: Target  # who is hit, looked up when the fault is injected
    for_s: float | None = None  # how long it is off; a plan may say `until` instead
    settle_s: float = 15.0  # for the silence and the death to show
    heal_s: float = 120.0  # for the node to answer again

    needs: ClassVar[tuple[type[Node], ...]] = (CanPowerOff,)

    def __post_init__(self) -> None:
        check_seconds(self, "for_s", "settle_s", "heal_s")

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        what = f"power_off {self.target.text!r}"
        chosen = stage.resolve(self.target, CanPowerOff)
        mine = {node.spec.node_id for node in chosen}
        askers = [node for node in stage.nodes.values() if node.spec.node_id not in mine]
        if not askers:
            raise FaultFailed(f"{what}: nobody would be left to see it; nothing was done")
        before = states_of_running(what, chosen)
        with window(
            strike=lambda: self._power_off(stage, chosen, before, askers[0]),
            heal=lambda: self._heal(chosen, before),
            take_back=lambda: self._boot_all(chosen),
        ) as hit:
            yield hit

    def _power_off(
        self, stage: Stage, chosen: Sequence[CanPowerOff], before: Mapping[int, NodeState], asker: Node
    ) -> Injected:
        deeds = stage.act(chosen, lambda node: node.power_off(), undo=Undo.POWER_ON)
        deadline = Deadline.after(self.settle_s)
        proof = {
            node.spec.name: _see_gone(node, deed, before[node.spec.node_id], asker, deadline)
            for node, deed in zip(chosen, deeds, strict=True)
        }
        return injected(chosen, deeds, proof)

    def _heal(self, chosen: Sequence[CanPowerOff], before: Mapping[int, NodeState]) -> Proof:
        deadline = Deadline.after(self.heal_s)
        # All boot before the first proof: two controllers of three can only answer together.
        trouble = self._boot_all(chosen)
        return prove_each(
            f"power_off {self.target.text!r}",
            chosen,
            lambda node: see_alive(node, before[node.spec.node_id], deadline),
            trouble,
        )

    def _boot_all(self, chosen: Sequence[CanPowerOff]) -> Trouble:
        return on_each(chosen, lambda node: node.power_on(within_s=self.heal_s))


def _see_gone(node: CanPowerOff, deed: Deed, before: NodeState, asker: Node, deadline: Deadline) -> Proof:
    """Raises FaultFailed unless another node hears nothing from it while it hears itself, and the process is dead."""
    port, at = spoken_port(node), node.address

    def look() -> tuple[Knock, Knock, NodeState]:
        alive = asker.knock(spoken_port(asker), speak=True, within_s=5.0, until=Knock.ANSWERED)
        return asker.knock(port, at=at, within_s=SILENCE_S, until=Knock.SILENT), alive, node.state()

    def bites(seen: tuple[Knock, Knock, NodeState]) -> bool:
        knock, alive, state = seen
        dead = not state.running and state.started_at == before.started_at
        return knock is Knock.SILENT and alive is Knock.ANSWERED and dead

    knock, _, state = see_bite(
        deed,
        f"{node.spec.name} to be without power",
        read=look,
        good=bites,
        deadline=deadline,
        describe=lambda seen: f"port {port} {seen[0]}, {asker.spec.name} to itself {seen[1]}, {seen[2]}",
    )
    return {
        "means": deed.means,
        "acted_ns": deed.acted_ns,
        "asker": asker.spec.name,
        "port": port,
        "knock": knock.value,
        "exit_code": state.exit_code,
        "process_started_at": before.started_at,
    }
