"""The nemesis plays the plan: fault after fault, each from a whole cluster under steady load.

In: the steps of a plan, a way to play one fault (which writes its four events), a gate that waits for a whole cluster
and steady load, and a clock that a stop ends. A fault that finds no target, or is not seen to bite or to heal, ends the
plan: what follows would be asked of a cluster that nobody intended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from chaoskafka.clock import Clock
from chaoskafka.faults import Injected
from chaoskafka.scenario.plan import PlannedStep

ACTION_S = 1.5  # an action is looked at for so long: clients that it drove elsewhere ask for metadata within a second
PlayFault = Callable[[PlannedStep], AbstractContextManager[Injected]]


def play(steps: Sequence[PlannedStep], *, fault: PlayFault, gate: Callable[[], None], clock: Clock) -> None:
    """Play all steps. Blocks.

    Every fault that was entered has been left on return, whatever was raised: FaultFailed, NoTarget, WaitTimeout (the
    gate stayed shut), Interrupted.
    """
    for step in steps:
        gate()
        clock.pause(step.after_s)
        with fault(step):
            clock.pause(getattr(step.fault, "for_s", None) or ACTION_S)
