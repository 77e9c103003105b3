"""Stop: a person asks Kafka to end (SIGTERM), it hands over what it leads and ends by itself, and is started again.

In goes a target; while it bites, the node is down, and nobody had to notice it by a timer: its leaders moved before it
ended. Address and disk stay. Seen to bite when the process ended by itself (143) and its port refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaoskafka.cluster.abilities import CanKill, CanStop, Node
from chaoskafka.cluster.targets import Target
from chaoskafka.faults import Injected, Stage
from chaoskafka.faults.ending import GRACE_S, AfterGrace, CanEnd, bring_back, start_all, stop_each
from chaoskafka.faults.playing import (
    check_seconds,
    states_of_running,
    window,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Ask Kafka on every node of `target` to stop, as a person or an init system does.

    `for_s` is kept by whoever plays the fault, and counts from the end of the process. Entering blocks up to `grace_s`
    and `settle_s` and raises NoTarget, or FaultFailed when a node was down already, did not end in time, or not as
    after SIGTERM; leaving blocks up to `heal_s` and raises FaultFailed when a node does not come back.
    """

    target: Target  # who is hit, looked up when the fault is injected
    for_s: float | None = None  # how long it stays down; a plan may say `until` instead
    grace_s: float = GRACE_S  # for the controlled shutdown, which took 3 to 5 s; then it is killed
    after_grace: AfterGrace = "fail"  # fail: a stop that became a kill leaves the run unknown; kill: its proof says so
    settle_s: float = 15.0  # for the end of the process to show
    heal_s: float = 120.0  # for the node to answer again

    needs: ClassVar[tuple[type[Node], ...]] = (CanStop, CanKill)

    def __post_init__(self) -> None:
        check_seconds(self, "for_s", "grace_s", "settle_s", "heal_s")

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        what = f"stop {self.target.text!r}"
        chosen = stage.resolve(self.target, CanEnd)
        before = states_of_running(what, chosen)
        with window(
            strike=lambda: stop_each(
                stage,
                chosen,
                before,
                grace_s=self.grace_s,
                settle_s=self.settle_s,
                after_grace=self.after_grace,
            ),
            heal=lambda: bring_back(what, chosen, before, self.heal_s),
            take_back=lambda: start_all(chosen, self.heal_s),
        ) as hit:
            yield hit
