"""One file, one fault; the file's name is the YAML word, its class the same word in CamelCase.

A fault is a frozen keyword-only dataclass whose fields are its YAML keys. `inject(stage)` is a context manager:
entering returns only when the fault was *seen* to bite, the body is the fault window, leaving heals exactly what was
done and proves that too. A failed entry has undone itself. The four events are written by whoever plays the fault.

A fault with a field `for_s` is a window, whose length whoever plays it keeps. One without is an action: it does its
work on entering and verifies it on leaving.

A deed is done through `stage.act` only: so how it is taken back is on disk before it, for a process that comes after a
harness that was killed. It is ticked off by whoever plays the fault, once `heal_proof` is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeVar

from chaoskafka.clock import Clock
from chaoskafka.cluster.abilities import Deed, Node
from chaoskafka.cluster.moving import Move
from chaoskafka.cluster.sights import BrokerView
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.undo import Undo

A = TypeVar("A", bound=Node)
R = TypeVar("R")
Proof = Mapping[str, object]  # JSON values: what was observed, by which path, when


@dataclass(slots=True, kw_only=True)
class Injected:
    """A fault that bites. `heal_proof` is set by the fault when it is left."""

    targets: tuple[int, ...]  # node ids
    acted_ns: int  # when the deed was done: time zero of the failover
    proof: Proof  # how the effect was observed, by another path than the one that injected
    asked_ns: int | None = None  # since when it may have been done, where the act took time
    heal_proof: Proof | None = field(default=None)


class Stage(Protocol):
    """Where a fault is played."""

    @property
    def tag(self) -> str:
        """Names this fault among all of the run, in letters, digits and `_`: what it creates is found by it."""
        ...

    @property
    def spec(self) -> ClusterSpec:
        """What the cluster is made of."""
        ...

    @property
    def nodes(self) -> Mapping[int, Node]:
        """Every node of the cluster, by its id."""
        ...

    @property
    def spared(self) -> tuple[str, ...]:
        """Addresses that no fault of the network may cut off: the observer's."""
        ...

    def ready(self) -> None:
        """Called right before the deed, by a fault that does not act through `act`: those that strike together wait for
        each other here."""
        ...

    @property
    def clock(self) -> Clock:
        """For pauses and waits while the fault strikes: a stop ends them. Healing does not look at it."""
        ...

    def look(self) -> Sequence[BrokerView]:
        """What every broker sees now, each asked over a new connection: none that a client uses. Blocks."""
        ...

    def stopping(self) -> Mapping[int, Proof] | None:
        """The brokers in controlled shutdown, each with the record of the controllers' log that says so (`offset`,
        `lo_ns`, `hi_ns`), as the observer has read it. None: nobody reads that log. Does not block."""
        ...

    def wait_whole(self, *, within_s: float) -> None:
        """Until every partition of every topic is in sync and all brokers agree, as they say. Blocks.

        Raises WaitTimeout (what is missing), and Interrupted.
        """
        ...

    def move(self, wanted: Sequence[Move], *, within_s: float) -> Deed:
        """Have partitions led by other brokers. Blocks until the controllers have granted it, not until brokers know.

        Raises FaultFailed when they refuse, WaitTimeout, NoAnswer and Interrupted.
        """
        ...

    def resolve(self, target: Target, ability: type[A]) -> tuple[A, ...]:
        """Who the target is *now*; the evidence is recorded. May be called again.

        Raises NoTarget when nobody fits.
        """
        ...

    def act(self, nodes: Sequence[A], deed: Callable[[A], R], *, undo: Undo, detail: str = "") -> list[R]:
        """Do `deed` to one node after the other, after `undo` was noted for all; returns what the deeds returned.

        Raises EnvironmentFailure when it cannot be noted, and then nothing was done; and what the deed raises.
        """
        ...


def has_window(fault: object) -> bool:
    """Whether a fault lasts until it is ended; else it is an action, done once it was entered."""
    return hasattr(fault, "for_s")


class Fault(Protocol):
    """What every fault offers."""

    needs: ClassVar[tuple[type[Node], ...]]  # abilities; a runtime that lacks one is refused at load

    def inject(self, stage: Stage) -> AbstractContextManager[Injected]: ...
