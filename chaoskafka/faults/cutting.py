"""Cutting nodes off and joining them again: what every fault of the network has in common.

In: which nodes get which rules, and which knocks must fail through them. Out: the context manager of such a fault. The
deed is rules in a node's network; the proof is a stranger who knocks there and gets no answer, while the node answers
itself, and while the rules of that very way have counted what they stopped: so neither a dead node nor a dead asker is
taken for a cut, and one way not for the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from chaoskafka.clock import Deadline, wait_until
from chaoskafka.cluster.abilities import CanPartition, Deed, Knock, Node
from chaoskafka.cluster.netrules import Action, Cut, Way, answers, cut_batch, dropped, lift_batch, tables
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.undo import Undo
from chaoskafka.errors import FaultFailed
from chaoskafka.faults import Injected, Proof, Stage
from chaoskafka.faults.playing import (
    Trouble,
    injected,
    on_each,
    prove_each,
    see_bite,
    spoken_port,
    states_of_running,
    window,
)

SILENCE_S = 0.5  # a connect within the cluster takes a millisecond, on a starved machine 0.1 s: so long is silence
ANSWER_S = 5.0  # for one answer of a node that lives, under load
SPOKEN = (Plane.REPLICATION, Plane.CONTROLLER)  # what speaks Kafka in the clear


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A knock from one node at another's plane, and the rules that it must run into on the node that is cut off."""

    asker: Node
    asked: Node
    plane: Plane
    counted: str  # the comment of those rules

    def knock(self, until: Knock, within_s: float, *, speak: bool = False) -> Knock:
        speak = speak and self.plane in SPOKEN
        at = self.asked.address
        return self.asker.knock(self.plane.port, at=at, speak=speak, within_s=within_s, until=until)

    def told(self, knock: Knock) -> str:
        return f"{self.asker.spec.name} to {self.asked.spec.name}:{self.plane.port} {knock}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    """What was seen of a cut: knocks that must fail and that must not, the node's own to itself, packets stopped."""

    stopped: list[tuple[Probe, Knock]]
    passed: list[tuple[Probe, Knock]]
    itself: Knock
    packets: Mapping[str, int]

    @property
    def told(self) -> Mapping[str, object]:
        return {
            "knocks": [probe.told(knock) for probe, knock in self.stopped],
            "still_open": [probe.told(knock) for probe, knock in self.passed],
            "itself": self.itself.value,
            "packets_stopped": dict(self.packets),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Severed:
    """What one node is cut off from, and how that is seen."""

    node: CanPartition
    cut: Cut
    probes: tuple[Probe, ...]
    opened: tuple[Probe, ...] = ()  # what must still get through

    @property
    def refusal(self) -> Knock:
        """What a knock gets that runs into the rules."""
        return Knock.REFUSED if self.cut.action is Action.REJECT else Knock.SILENT


class Settings(Protocol):
    """The parameters that such faults share."""

    @property
    def target(self) -> Target: ...
    @property
    def settle_s(self) -> float: ...
    @property
    def heal_s(self) -> float: ...
    @property
    def reset_connections(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Severing:
    """Nodes that are cut off together. `what` names the fault in errors, `targets` are told as who was hit."""

    what: str
    stage: Stage
    settings: Settings
    severed: tuple[Severed, ...]
    targets: tuple[int, ...]

    def play(self) -> AbstractContextManager[Injected]:
        """Blocks on entering and on leaving. Raises FaultFailed."""
        for each in self.severed:
            if not each.probes:
                raise FaultFailed(f"{self.what}: nobody could see that {each.node.spec.name} is cut off; nothing done")
        states_of_running(self.what, self._nodes)
        return window(strike=self._strike, heal=self._heal, take_back=self._lift)

    @property
    def _nodes(self) -> list[CanPartition]:
        return [each.node for each in self.severed]

    def _strike(self) -> Injected:
        tag, spared = self.stage.tag, self.stage.spared
        batches = {each.node.spec.node_id: cut_batch(tag, each.cut, spared) for each in self.severed}
        deeds = self.stage.act(
            self._nodes, lambda node: node.run_rules(batches[node.spec.node_id]), undo=Undo.LIFT, detail=tag
        )
        deadline = Deadline.after(self.settings.settle_s)
        proof = {
            each.node.spec.name: self._see_cut(each, deed, deadline)
            for each, deed in zip(self.severed, deeds, strict=True)
        }
        return injected(self._nodes, deeds, proof, targets=self.targets)

    def _see_cut(self, each: Severed, deed: Deed, deadline: Deadline) -> Proof:
        """Raises FaultFailed when somebody gets through, or when what he runs into is not the rules."""
        hindered = _hindered(each.opened, besides=self.stage.tag)
        opened = [probe for probe in each.opened if probe not in hindered]
        wanted = {probe.counted for probe in each.probes}

        def look() -> _Sight:
            return _Sight(
                stopped=[(probe, probe.knock(each.refusal, SILENCE_S)) for probe in each.probes],
                passed=[(probe, probe.knock(Knock.ANSWERED, ANSWER_S, speak=True)) for probe in opened],
                itself=each.node.knock(spoken_port(each.node), speak=True, within_s=ANSWER_S, until=Knock.ANSWERED),
                packets=dropped(each.node.rules(), self.stage.tag),
            )

        def bites(seen: _Sight) -> bool:
            silent = all(knock is each.refusal for _, knock in seen.stopped)
            lives = all(knock is Knock.ANSWERED for knock in (seen.itself, *(knock for _, knock in seen.passed)))
            return silent and lives and all(seen.packets.get(comment, 0) > 0 for comment in wanted)

        what = f"{each.node.spec.name} to be cut off"
        seen = see_bite(deed, what, read=look, good=bites, deadline=deadline, describe=lambda seen: str(seen.told))
        return {
            "means": deed.means,
            "acted_ns": deed.acted_ns,
            "table": self.stage.tag,
            "from": list(each.cut.peers) or "everybody",
            "planes": [plane.name.lower() for plane in each.cut.planes] or "all traffic",
            "ways": each.cut.ways.value,
            **seen.told,
        }

    def _heal(self) -> Proof:
        deadline = Deadline.after(self.settings.heal_s)
        trouble = self._lift()
        by_node = {each.node.spec.node_id: each for each in self.severed}
        if self.settings.reset_connections:
            trouble += on_each(self._nodes, lambda node: node.reset_connections(by_node[node.spec.node_id].cut.peers))
        return prove_each(
            self.what, self._nodes, lambda node: self._see_joined(by_node[node.spec.node_id], deadline), trouble
        )

    def _lift(self) -> Trouble:
        batch = lift_batch(self.stage.tag)
        return on_each(self._nodes, lambda node: node.run_rules(batch))

    def _see_joined(self, each: Severed, deadline: Deadline) -> Proof:
        """The rules are gone, and those who got no answer get one, unless another fault denies it to them."""
        left = tables(each.node.rules())
        if self.stage.tag in left:
            raise FaultFailed(f"the rules of {each.node.spec.name} are still there: {self.stage.tag}")
        hindered = _hindered(each.probes)
        answered = []
        for probe in each.probes:
            if probe in hindered:
                continue
            knock = wait_until(
                f"{probe.asked.spec.name} to answer {probe.asker.spec.name} on port {probe.plane.port}",
                read=lambda probe=probe: probe.knock(Knock.ANSWERED, ANSWER_S, speak=True),  # type: ignore[misc]
                good=lambda knock: knock is Knock.ANSWERED,
                within_s=deadline.left_s(),
            )
            answered.append(probe.told(knock))
        others = [f"{probe.told(Knock.SILENT)}: {why}" for probe, why in hindered.items()]
        return {"knocks": answered, "other_faults": others}


def cut_off(
    word: str, settings: Settings, stage: Stage, cut: Cut, *, planes: Sequence[Plane] = SPOKEN
) -> AbstractContextManager[Injected]:
    """Play a fault that cuts its target off from everybody; `planes`: where to knock, if all traffic is cut.

    Raises NoTarget and FaultFailed.
    """
    chosen = stage.resolve(settings.target, CanPartition)
    return Severing(
        what=f"{word} {settings.target.text!r}",
        stage=stage,
        settings=settings,
        severed=tuple(
            severed(node, [peer for peer in stage.nodes.values() if peer.spec != node.spec], cut, planes=planes)
            for node in chosen
        ),
        targets=tuple(node.spec.node_id for node in chosen),
    ).play()


def severed(node: CanPartition, peers: Iterable[Node], cut: Cut, *, planes: Sequence[Plane] = SPOKEN) -> Severed:
    """`node` with the knocks between it and each of `peers` that prove `cut`; `planes`: those to knock at, if cut."""
    asked = [plane for plane in cut.planes or planes if plane is not Plane.HOST]
    those = list(peers)
    probes: list[Probe] = []
    for peer in those:
        own = [probe for plane in asked if (probe := _probe(node, peer, plane, cut.ways))]
        # Each plane once, and each peer once: a knock in vain costs half a second of the fault's window.
        probes += own[:1] if probes else own
    spoken = [plane for plane in (*SPOKEN, Plane.CLIENTS) if cut.planes and plane not in cut.planes]
    opened = [probe for peer in those[:1] for plane in spoken if (probe := _probe(node, peer, plane, Way.BOTH))]
    return Severed(node=node, cut=cut, probes=tuple(probes), opened=tuple(opened))


def listens(node: Node, plane: Plane) -> bool:
    """Whether a node has that listener."""
    return node.spec.is_controller if plane is Plane.CONTROLLER else node.spec.is_broker


def _probe(node: Node, peer: Node, plane: Plane, ways: Way) -> Probe | None:
    """The knock that tells the way: one that is answered, and whose answer is stopped; where there is none, any.

    What arrives is stopped: the node asks, and the answer does not reach it. What leaves is stopped: it is asked.
    """
    inward = (peer, node, answers("output") if ways is Way.OUT else "input")
    outward = (node, peer, answers("input") if ways is Way.IN else "output")
    for asker, asked, counted in (outward, inward) if ways is Way.IN else (inward, outward):
        if listens(asked, plane):
            return Probe(asker=asker, asked=asked, plane=plane, counted=counted)
    return None


def _hindered(probes: Sequence[Probe], *, besides: str = "") -> Mapping[Probe, str]:
    """The knocks that may get no answer now because of a fault that overlaps with the one whose table is `besides`."""
    asked = {probe.asked.spec.node_id: probe.asked for probe in probes}
    ends = asked | {probe.asker.spec.node_id: probe.asker for probe in probes}
    away = {node_id: why for node_id, node in asked.items() if (why := _away(node))}
    cut = {node_id: why for node_id, node in ends.items() if (why := _other_rules(node, besides))}
    found = {}
    for probe in probes:
        at, to = probe.asker.spec.node_id, probe.asked.spec.node_id
        if why := away.get(to) or cut.get(to) or cut.get(at):
            found[probe] = why
    return found


def _away(node: Node) -> str | None:
    state = node.state()
    if state.running and not state.frozen:
        return None
    return f"{node.spec.name} is {'frozen' if state.frozen else 'down'}"


def _other_rules(node: Node, besides: str) -> str | None:
    others = [table for table in tables(node.rules()) if table != besides] if isinstance(node, CanPartition) else []
    return f"{node.spec.name} has other rules: {', '.join(others)}" if others else None
