"""The nemesis plays the plan: fault after fault, each from a whole cluster under steady load.

In: the steps of a plan, a way to play one fault (which writes its four events), a gate that waits for a whole cluster
and steady load, and a clock that a stop ends. A fault that finds no target, or is not seen to bite or to heal, ends the
plan: what follows would be asked of a cluster that nobody intended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack

from chaoskafka.clock import Clock
from chaoskafka.faults import Injected
from chaoskafka.scenario.plan import PlannedStep

PlayFault = Callable[[PlannedStep], AbstractContextManager[Injected]]


def play(steps: Sequence[PlannedStep], *, fault: PlayFault, gate: Callable[[], None], clock: Clock) -> None:
    """Play all steps; a fault without `for_s` lasts to the end of the plan. Blocks.

    Every fault that was entered has been left on return, whatever was raised: FaultFailed, NoTarget, WaitTimeout (the
    gate stayed shut), Interrupted.
    """
    with ExitStack() as lasting:
        for step in steps:
            gate()
            clock.pause(step.after_s)
            for_s: float | None = getattr(step.fault, "for_s", None)
            with ExitStack() as window:
                window.enter_context(fault(step))
                if for_s is None:
                    lasting.push(window.pop_all())
                else:
                    clock.pause(for_s)
