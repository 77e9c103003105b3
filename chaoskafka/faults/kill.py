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

from chaoskafka.clock import Deadline, wait_until
from chaoskafka.cluster.abilities import CanKill, Deed, Knock, Node, NodeState
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.undo import Undo
from chaoskafka.errors import ChaosKafkaError, FaultFailed, WaitTimeout
from chaoskafka.faults import Injected, Proof, Stage

KNOCKS_S = 5.0  # one series of knocks while a node comes back; then its process is looked at again
SIGKILLED = 137  # 128 + SIGKILL, as every runtime reports it


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
        for name in ("for_s", "settle_s", "heal_s"):
            seconds = getattr(self, name)
            if seconds is not None and seconds <= 0:
                raise ValueError(f"{name}: {seconds} is not above 0")

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        chosen = stage.resolve(self.target, CanKill)
        before = {node.spec.node_id: node.state() for node in chosen}
        dead = [node.spec.name for node in chosen if not before[node.spec.node_id].running]
        if dead:
            raise FaultFailed(f"kill {self.target.text!r}: {', '.join(dead)} was down already, by another cause")
        try:
            hit = self._kill(stage, chosen, before)
        except BaseException as failed:
            _note_trouble(failed, self._start_all(chosen))
            raise
        try:
            yield hit
        except BaseException as failed:
            try:
                hit.heal_proof = self._heal(chosen, before)
            except ChaosKafkaError as unhealed:
                failed.add_note(f"then, while healing: {unhealed}")
            raise
        hit.heal_proof = self._heal(chosen, before)

    def _kill(self, stage: Stage, chosen: Sequence[CanKill], before: Mapping[int, NodeState]) -> Injected:
        deeds = stage.act(chosen, lambda node: node.kill(), undo=Undo.START)
        deadline = Deadline.after(self.settle_s)
        proof = {
            node.spec.name: self._see_dead(node, deed, before[node.spec.node_id], deadline)
            for node, deed in zip(chosen, deeds, strict=True)
        }
        targets = tuple(node.spec.node_id for node in chosen)
        acted_ns = min(deed.acted_ns for deed in deeds)
        asked_ns = min((deed.asked_ns for deed in deeds if deed.asked_ns is not None), default=None)
        return Injected(targets=targets, acted_ns=acted_ns, asked_ns=asked_ns, proof=proof)

    def _see_dead(self, node: CanKill, deed: Deed, before: NodeState, deadline: Deadline) -> Proof:
        def bites(seen: tuple[Knock, NodeState]) -> bool:
            knock, state = seen
            # Another start time would be another process: a death that we did not cause.
            same = state.started_at == before.started_at
            return knock is Knock.REFUSED and state.exit_code == SIGKILLED and same

        try:
            knock, state = wait_until(
                f"the kill of {node.spec.name} to show",
                read=lambda: (node.knock(_port(node), until=Knock.REFUSED), node.state()),
                good=bites,
                within_s=deadline.left_s(),
                describe=lambda seen: f"port {_port(node)} {seen[0]}, {seen[1]}",
            )
        except WaitTimeout as unseen:
            raise FaultFailed(f"{deed.what} by {deed.means} was not seen to bite: {unseen}") from unseen
        return {
            "means": deed.means,
            "acted_ns": deed.acted_ns,
            "port": _port(node),
            "knock": knock.value,
            "exit_code": state.exit_code,
            "out_of_memory": state.out_of_memory,
            "process_started_at": before.started_at,
        }

    def _heal(self, chosen: Sequence[CanKill], before: Mapping[int, NodeState]) -> Proof:
        deadline = Deadline.after(self.heal_s)
        # All starts before the first proof: two controllers of three can only answer together.
        trouble = self._start_all(chosen)
        proof: dict[str, object] = {}
        for node in chosen:
            try:
                proof[node.spec.name] = self._see_alive(node, before[node.spec.node_id], deadline)
            except ChaosKafkaError as unhealed:
                trouble.append(unhealed)
        if trouble:
            failed = FaultFailed(f"kill {self.target.text!r} was not seen to heal: {trouble[0]}")
            _note_trouble(failed, trouble[1:])
            raise failed from trouble[0]
        return proof

    def _start_all(self, chosen: Sequence[CanKill]) -> list[ChaosKafkaError]:
        """Start every node, whatever happens to the others; returns what went wrong."""
        trouble: list[ChaosKafkaError] = []
        for node in chosen:
            try:
                node.start(within_s=self.heal_s)
            except ChaosKafkaError as failed:
                trouble.append(failed)
        return trouble

    def _see_alive(self, node: CanKill, before: NodeState, deadline: Deadline) -> Proof:
        knock, state = wait_until(
            f"{node.spec.name} to answer again as a new process",
            read=lambda: (node.knock(_port(node), within_s=KNOCKS_S, until=Knock.ANSWERED), node.state()),
            good=lambda seen: seen[0] is Knock.ANSWERED and seen[1].running and seen[1].started_at != before.started_at,
            within_s=deadline.left_s(),
            describe=lambda seen: f"port {_port(node)} {seen[0]}, {seen[1]}",
        )
        return {"port": _port(node), "knock": knock.value, "process_started_at": state.started_at}


def _port(node: Node) -> int:
    return Plane.CLIENTS.port if node.spec.is_broker else Plane.CONTROLLER.port


def _note_trouble(failed: BaseException, trouble: Sequence[ChaosKafkaError]) -> None:
    for later in trouble:
        failed.add_note(f"then, while starting again: {later}")
