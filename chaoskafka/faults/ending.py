"""How a process of Kafka's is ended, politely or not, and seen to have ended. What several faults have in common.

In: nodes and how they were before. Out: proofs. The deed goes through a signal; the proof goes another way: a stranger
knocks on the node's port from inside its network, and the runtime's own account of the process says how it ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from chaoskafka.clock import Deadline, wait_until
from chaoskafka.cluster.abilities import CanKill, CanStart, CanStop, Deed, Knock, Node, NodeState
from chaoskafka.cluster.undo import Undo
from chaoskafka.errors import FaultFailed, WaitTimeout
from chaoskafka.faults import Injected, Proof, Stage
from chaoskafka.faults.playing import Trouble, client_port, injected, on_each, prove_each, see_alive, see_bite

SIGKILLED, STOPPED = 137, 143  # 128 + SIGKILL and 128 + SIGTERM, as every runtime reports them
GRACE_S = 60.0  # a clean stop took 3 to 5 s; a broker with many partitions, or on a starved machine, takes longer

AfterGrace = Literal["fail", "kill"]


@runtime_checkable
class CanEnd(CanStop, CanKill, Protocol):
    """Kafka can be asked to stop, and killed when it does not."""


def see_ended(node: Node, deed: Deed, before: NodeState, deadline: Deadline, *codes: int) -> Proof:
    """The process that `deed` was done to has ended with one of `codes`, and nobody answers on its port. Blocks.

    Raises FaultFailed when that does not show in time.
    """

    def bites(seen: tuple[Knock, NodeState]) -> bool:
        knock, state = seen
        # Another start time would be another process: a death that we did not cause.
        same = state.started_at == before.started_at
        return knock is Knock.REFUSED and state.exit_code in codes and same

    knock, state = see_bite(
        deed,
        f"the end of Kafka on {node.spec.name} to show",
        read=lambda: (node.knock(client_port(node), until=Knock.REFUSED), node.state()),
        good=bites,
        deadline=deadline,
        describe=lambda seen: f"port {client_port(node)} {seen[0]}, {seen[1]}",
    )
    return {
        "means": deed.means,
        "acted_ns": deed.acted_ns,
        "port": client_port(node),
        "knock": knock.value,
        "exit_code": state.exit_code,
        "out_of_memory": state.out_of_memory,
        "process_started_at": before.started_at,
    }


def kill_each(stage: Stage, chosen: Sequence[CanKill], before: Mapping[int, NodeState], *, settle_s: float) -> Injected:
    """SIGKILL every node, and see each dead. Blocks up to `settle_s`. Raises FaultFailed when one does not show."""
    deeds = stage.act(chosen, lambda node: node.kill(), undo=Undo.START)
    deadline = Deadline.after(settle_s)
    proof = {
        node.spec.name: see_ended(node, deed, before[node.spec.node_id], deadline, SIGKILLED)
        for node, deed in zip(chosen, deeds, strict=True)
    }
    return injected(chosen, deeds, proof)


def stop_each(
    stage: Stage,
    chosen: Sequence[CanEnd],
    before: Mapping[int, NodeState],
    *,
    grace_s: float,
    settle_s: float,
    after_grace: AfterGrace = "fail",
) -> Injected:
    """SIGTERM every node, and see each end by itself. Blocks up to `grace_s` and `settle_s`.

    Where somebody reads the controllers' log it must say that each broker was granted its controlled shutdown: then a
    stop bites, and the end of the process is only its end. One that has not ended in `grace_s` is killed, as whoever
    stops brokers does; no node is left half stopped. That was no stop then: raises FaultFailed, or with `after_grace`
    "kill" says so in the proof.
    """
    grants = _Grants(stage, tuple(chosen), stage.stopping() or {})
    deeds = stage.act(chosen, lambda node: node.terminate(), undo=Undo.START)
    grace = Deadline.after(grace_s)
    impatient = [node.spec.name for node in chosen if not _ended(node, before[node.spec.node_id], grace)]
    settle = Deadline.after(settle_s)
    proof: dict[str, object] = {}
    for node, deed in zip(chosen, deeds, strict=True):
        codes = (STOPPED, SIGKILLED) if node.spec.name in impatient else (STOPPED,)
        seen = see_ended(node, deed, before[node.spec.node_id], settle, *codes)
        clean = seen["exit_code"] == STOPPED
        ended_by = "SIGTERM" if clean else f"SIGKILL, after {grace_s:g} s of grace: no stop"
        granted = grants.see(node, deed, settle) if clean else {}
        others = {"clean": clean, "ended_by": ended_by, "fenced_by": _fenced_by(stage, node)}
        proof[node.spec.name] = {**seen, **others, **granted}
        if not clean and after_grace == "fail":
            late = f"{deed.what} did not end it in {grace_s:g} s of grace, so it was killed"
            raise FaultFailed(f"{late}: that is no stop")
    return injected(chosen, deeds, proof)


def _ended(node: CanEnd, before: NodeState, grace: Deadline) -> bool:
    """Whether it ended by itself; else it was killed."""
    try:
        wait_until(
            f"{node.spec.name} to stop",
            read=node.state,
            good=lambda state: not state.running or state.started_at != before.started_at,
            within_s=grace.left_s(),
        )
    except WaitTimeout:
        with suppress(FaultFailed):  # it ended at this very moment; its exit code tells
            node.kill()
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Grants:
    """Whether the controllers granted brokers a controlled shutdown. `before`: what their log said of it earlier."""

    stage: Stage
    chosen: Sequence[Node]
    before: Mapping[int, Proof]

    def see(self, node: Node, deed: Deed, deadline: Deadline) -> Proof:
        """The record that says so; nothing where nobody reads the log. Blocks.

        Raises FaultFailed when there is none although enough controllers were left to write it: Kafka ended, and
        whoever depends on it was not told.
        """
        if not node.spec.is_broker or self.stage.stopping() is None:
            return {}
        broker = node.spec.node_id
        if not self._is_decided:
            return {"controlled_shutdown": self._read(broker)}
        record = see_bite(
            deed,
            f"the controllers' log to grant broker {broker} its controlled shutdown",
            read=lambda: self._read(broker),
            good=lambda seen: seen is not None,
            deadline=deadline,
            describe=lambda _: "no such record",
        )
        return {"controlled_shutdown": record}

    def _read(self, broker: int) -> Proof | None:
        record = (self.stage.stopping() or {}).get(broker)
        return None if record == self.before.get(broker) else record

    @property
    def _is_decided(self) -> bool:
        """Whether a majority of the controllers is left, without which nobody grants anything."""
        voters = {node_id for node_id, node in self.stage.nodes.items() if node.spec.is_controller}
        left = voters - {node.spec.node_id for node in self.chosen}
        return 2 * len(left) > len(voters)


def _fenced_by(stage: Stage, node: Node) -> list[int]:
    """The brokers that call the node fenced by now: the controllers let it go before it ended."""
    return [view.broker for view in stage.look() if view.fenced.get(node.spec.node_id)]


def start_all(nodes: Sequence[CanStart], within_s: float) -> Trouble:
    """Start Kafka on every node, whatever happens to the others; returns what went wrong."""
    return on_each(nodes, lambda node: node.start(within_s=within_s))


def bring_back(what: str, nodes: Sequence[CanStart], before: Mapping[int, NodeState], within_s: float) -> Proof:
    """Start Kafka on every node and see a new process answer. Blocks. Raises FaultFailed: `what` did not heal.

    All starts come before the first proof: two controllers of three can only answer together.
    """
    deadline = Deadline.after(within_s)
    trouble = start_all(nodes, within_s)
    return prove_each(what, nodes, lambda node: see_alive(node, before[node.spec.node_id], deadline), trouble)
