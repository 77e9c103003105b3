"""Isolate: a node can talk to nobody, and nobody to it; its process lives, and talks to itself.

In goes a target; while it bites, packets from and to the node are dropped, as with a pulled cable, or rejected, as by a
firewall that says so. Brokers, controllers and clients are all out of reach; only the observer, which is not part of
the cluster, still sees the node. One way can be cut alone: then a node hears and is not heard, or the other way round.
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
from chaoskafka.faults.cutting import SPOKEN, cut_off
from chaoskafka.faults.playing import check_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolate:
    """Cut every node of `target` off from everybody but the observer.

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
        cut = Cut(ways=self.ways, action=self.action)
        with cut_off("isolate", self, stage, cut, planes=(*SPOKEN, Plane.CLIENTS)) as hit:
            yield hit
