"""Three nodes in memory, and faults injected into them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from chaoskafka.clock import ManualClock
from chaoskafka.cluster.moves import Moves
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.faults import Fault, Injected, Proof
from chaoskafka.stage import TargetStage
from tests.memory_cluster import MemoryCluster, MemoryNode, MemoryViews, Trouble


@dataclass
class Stand:
    """`trouble`: by the name of an act, what is to happen in it. `clock`: of the stage; it passes in pauses only."""

    trouble: dict[str, Trouble] = field(default_factory=dict)
    spec: ClusterSpec = field(default_factory=ClusterSpec)
    cluster: MemoryCluster = field(init=False)
    clock: ManualClock = field(default_factory=ManualClock)
    moves: Moves | None = None
    stopping: Callable[[], Mapping[int, Proof] | None] = lambda: None  # what the controllers' log says

    def __post_init__(self) -> None:
        self.cluster = MemoryCluster(self.spec, self.trouble)

    def become(self, node: int, kind: type[MemoryNode]) -> None:
        """Let a node behave as a class that has no fields of its own does."""
        self.cluster.nodes[node].__class__ = kind

    def stage(self) -> TargetStage:
        views = MemoryViews(self.cluster)
        return TargetStage(
            self.cluster, views, random.Random(1), clock=self.clock, moves=self.moves, stopping=self.stopping
        )  # type: ignore[arg-type]

    def inject(self, fault: Fault) -> AbstractContextManager[Injected]:
        return fault.inject(self.stage())

    @property
    def running(self) -> list[int]:
        return [node_id for node_id, node in self.cluster.nodes.items() if node.running]

    @property
    def starts(self) -> list[int]:
        return [node.starts for node in self.cluster.nodes.values()]
