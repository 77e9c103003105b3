"""Kill: Kafka's process on a node dies as by the kernel (SIGKILL), and is started again when the fault is left.

In goes a target; while it bites, connections to the node are reset and new ones refused at once. Its address and disk
stay. The deed goes through a signal; the proof goes another way: a stranger knocks on the node's port from inside its
network, and the runtime's own account of the process says 137.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaoskafka.cluster.abilities import CanKill, Node
from chaoskafka.cluster.targets import Target
from chaoskafka.faults import Injected, Stage
from chaoskafka.faults.ending import bring_back, kill_each, start_all
from chaoskafka.faults.playing import (
    check_seconds,
    states_of_running,
    window,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """SIGKILL Kafka on every node of `target`.

    `for_s` is kept by whoever plays the fault. Entering blocks up to `settle_s` and raises NoTarget, or FaultFailed
    when a node was down already or a kill was not seen to bite; leaving blocks up to `heal_s` and raises FaultFailed
    when a node does not come back. A broker opens its ports only once the controller took it in again, which after a
    kill waits for the old session to end (broker.session.timeout.ms, 9 s by default).
    """

    target: Target  # who is hit, looked up when the fault is injected
    for_s: float | None = None  # how long it stays dead; a plan may say `until` instead
    settle_s: float = 15.0  # for the kill to show: the engine notices a death after up to 0.8 s, more under load
    heal_s: float = 120.0  # for the node to answer again

    needs: ClassVar[tuple[type[Node], ...]] = (CanKill,)

    def __post_init__(self) -> None:
        check_seconds(self, "for_s", "settle_s", "heal_s")

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        chosen = stage.resolve(self.target, CanKill)
        before = states_of_running(f"kill {self.target.text!r}", chosen)
        with window(
            strike=lambda: kill_each(stage, chosen, before, settle_s=self.settle_s),
            heal=lambda: bring_back(f"kill {self.target.text!r}", chosen, before, self.heal_s),
            take_back=lambda: start_all(chosen, self.heal_s),
        ) as hit:
            yield hit
