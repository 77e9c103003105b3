"""Partition: nodes that cannot talk to each other, while clients still reach all of them.

In goes a target and a shape, which says who is parted from whom; while it bites, packets between the parts are stopped,
all or those of some planes. Clients are not part of it (`isolate`, `cut_clients`): a leader that is cut off from the
controllers goes on serving those who still reach it, until it notices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal

from chaoskafka.cluster.abilities import CanPartition, Node
from chaoskafka.cluster.netrules import Action, Cut, Way
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import NoTarget
from chaoskafka.faults import Injected, Stage
from chaoskafka.faults.cutting import Severing, severed
from chaoskafka.faults.playing import check_seconds

Parted = Literal["controllers", "replication"]
_PLANES: Mapping[str, Plane] = {"controllers": Plane.CONTROLLER, "replication": Plane.REPLICATION}


class Shape(StrEnum):
    """Who is parted from whom. The last four are named as Jepsen names them, and take all nodes in a circle."""

    REST = "rest"  # the target's nodes from all others
    HALVES = "halves"  # two parts of equal size, or with one node more in the second; the target is in the first
    MINORITY = "minority"  # the largest part that is no majority, from the others; the target is in it
    BRIDGE = "bridge"  # two halves, and the target, which both of them reach
    MAJORITIES_RING = "majorities_ring"  # each node reaches a majority, and no two the same one


_NODES_MIN = {
    Shape.REST: 2,
    Shape.HALVES: 2,
    Shape.MINORITY: 3,
    Shape.BRIDGE: 3,
    Shape.MAJORITIES_RING: 4,  # of three, each has the two others beside it
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Part nodes from each other as `shape` says; clients and the observer still reach all of them.

    `for_s` is kept by whoever plays the fault. Entering blocks up to `settle_s` and raises NoTarget, or FaultFailed
    when a node was down or frozen already, or still gets through; leaving blocks up to `heal_s` and raises FaultFailed
    when nodes do not reach each other again.
    """

    target: Target  # who stands first in the shape, looked up when the fault is injected
    shape: Shape = Shape.REST  # who is parted from whom
    against: Target | None = None  # of shape rest: whom the target is parted from; none: all others
    planes: tuple[Parted, ...] = ()  # what is cut: controllers, replication; empty: all traffic between them
    ways: Way = Way.BOTH  # of shape rest: which packets are stopped, those that arrive at the target, that leave it
    action: Action = Action.DROP  # drop: silence; reject: resets (both ways only)
    for_s: float | None = None  # how long it lasts; a plan may say `until` instead
    reset_connections: bool = False  # end stuck connections at the heal; else they wait for TCP's retransmission
    settle_s: float = 60.0  # for the cut to show: half a second for each knock in vain, more under load
    heal_s: float = 60.0  # for nodes to reach each other again

    needs: ClassVar[tuple[type[Node], ...]] = (CanPartition,)

    def __post_init__(self) -> None:
        check_seconds(self, "for_s", "settle_s", "heal_s")
        Cut(ways=self.ways, action=self.action)
        if self.shape is not Shape.REST:
            if self.against is not None:
                raise ValueError(f"against: shape {self.shape} has all nodes take part; leave it out")
            if self.ways is not Way.BOTH:
                raise ValueError(f"ways: with shape {self.shape} there is no target for one way to be seen from")

    def misfit(self, spec: ClusterSpec) -> str | None:
        """Why no cluster like that can be parted so."""
        least, have = _NODES_MIN[self.shape], len(spec.members)
        return f"shape: {self.shape} takes {least} nodes, and there are {have}" if have < least else None

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        planes = tuple(_PLANES[name] for name in dict.fromkeys(self.planes))
        # The target last: it is whose evidence is kept.
        against = None if self.against is None else _ids(stage.resolve(self.against, CanPartition))
        first = _ids(stage.resolve(self.target, CanPartition))
        parted = parting(self.shape, first, list(stage.nodes), against)
        if not parted:
            raise NoTarget(f"partition {self.target.text!r}: that parts nobody from anybody")
        severing = Severing(
            what=f"partition {self.target.text!r}",
            stage=stage,
            settings=self,
            severed=tuple(
                severed(
                    _able(stage.nodes[node]), [stage.nodes[peer] for peer in peers], self._cut(stage, peers, planes)
                )
                for node, peers in parted.items()
            ),
            targets=weak(parted, list(stage.nodes)) or (tuple(first) if self.shape is Shape.REST else ()),
        )
        with severing.play() as hit:
            yield hit

    def _cut(self, stage: Stage, peers: Sequence[int], planes: tuple[Plane, ...]) -> Cut:
        addresses = tuple(stage.nodes[peer].address for peer in peers)
        return Cut(peers=addresses, planes=planes, ways=self.ways, action=self.action)


def parting(
    shape: Shape, first: Sequence[int], nodes: Sequence[int], against: Sequence[int] | None = None
) -> Mapping[int, tuple[int, ...]]:
    """Which node is to get rules against which others: each pair that is parted once. Pure.

    Raises NoTarget when `first` is more than one node where the shape has room for one.
    """
    circle = [*first, *(node for node in nodes if node not in first)]
    if shape is Shape.REST:
        others = [node for node in (nodes if against is None else against) if node not in first]
        return {node: tuple(others) for node in first} if others else {}
    if shape is Shape.MAJORITIES_RING:
        return _ring(circle)
    room = {Shape.HALVES: len(nodes) // 2, Shape.MINORITY: (len(nodes) - 1) // 2, Shape.BRIDGE: 1}[shape]
    if len(first) > room:
        raise NoTarget(f"shape {shape} of {len(nodes)} nodes has room for {room} of the target's {len(first)}")
    around = circle[1:] if shape is Shape.BRIDGE else circle
    size = len(around) // 2 if shape is Shape.BRIDGE else room
    return {node: tuple(around[size:]) for node in around[:size]}


def weak(parted: Mapping[int, Sequence[int]], nodes: Sequence[int]) -> tuple[int, ...]:
    """The nodes that reach no majority of all, themselves counted; nobody, where none do. Pure."""
    lost = {node: set(parted.get(node, ())) | {one for one, peers in parted.items() if node in peers} for node in nodes}
    found = tuple(node for node in nodes if len(nodes) - len(lost[node]) <= len(nodes) // 2)
    return found if len(found) < len(nodes) else ()


def _ring(circle: Sequence[int]) -> Mapping[int, tuple[int, ...]]:
    """Each node reaches as many neighbours on either side as make a majority with it."""
    count = len(circle)
    reach = (count // 2 + 1) // 2
    parted = {
        node: tuple(circle[j] for j in range(i + 1, count) if min(j - i, count - j + i) > reach)
        for i, node in enumerate(circle)
    }
    return {node: peers for node, peers in parted.items() if peers}


def _ids(nodes: Sequence[Node]) -> list[int]:
    return [node.spec.node_id for node in nodes]


def _able(node: Node) -> CanPartition:
    if not isinstance(node, CanPartition):
        raise NoTarget(f"{node.spec.name} of this runtime has no ability CanPartition")
    return node
