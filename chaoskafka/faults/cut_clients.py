"""Cut clients: no client reaches a node, while brokers and controllers go on talking to it.

In goes a target; while it bites, the planes of clients are cut, the one on the cluster's network and the published one.
For Kafka the broker is in good health: no lease ends, so nobody is fenced and no leader may move, and its partitions
are away for as long as the cut lasts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaoskafka.cluster.abilities import CanPartition, Node
from chaoskafka.cluster.netrules import Action, Cut, Way
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.targets import Target
from chaoskafka.faults import Injected, Stage
from chaoskafka.faults.cutting import cut_off
from chaoskafka.faults.playing import check_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CutClients:
    """Cut every broker of `target` off from all clients but the observer.

    `for_s` is kept by whoever plays the fault. Entering blocks up to `settle_s` and raises NoTarget, or FaultFailed
    when a node was down or frozen already, or can still be reached; leaving blocks up to `heal_s` and raises
    FaultFailed when it cannot be reached again.
    """

    target: Target  # who is hit, looked up when the fault is injected
    for_s: float | None = None  # how long it lasts; a plan may say `until` instead
    ways: Way = Way.BOTH  # which packets are stopped: those that arrive at the target, those that leave it
    action: Action = Action.DROP  # drop: silence; reject: resets (both ways only)
    reset_connections: bool = False  # end stuck connections at the heal; else they wait for TCP's retransmission
    settle_s: float = 30.0  # for the cut to show: half a second for each knock in vain, more under load
    heal_s: float = 60.0  # for the node to be reached again

    needs: ClassVar[tuple[type[Node], ...]] = (CanPartition,)

    def __post_init__(self) -> None:
        check_seconds(self, "for_s", "settle_s", "heal_s")
        Cut(ways=self.ways, action=self.action)

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        cut = Cut(planes=(Plane.CLIENTS, Plane.HOST), ways=self.ways, action=self.action)
        with cut_off("cut_clients", self, stage, cut) as hit:
            yield hit
