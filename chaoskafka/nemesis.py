"""The nemesis plays the plan: fault after fault, each from a whole cluster under steady load unless the plan says else.

In: a plan, hands that do what it says (play a fault and write its four events, wait for a whole cluster and steady
load, wait for a condition, move leadership), and a clock that a stop ends. A fault that finds no target, or is not seen
to bite or to heal, ends the plan: what follows would be asked of a cluster that nobody intended. Only one that was
drawn may be skipped for want of a target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Barrier, BrokenBarrierError
from typing import Protocol

from chaoskafka.clock import Clock
from chaoskafka.cluster.conditions import Condition
from chaoskafka.errors import FaultFailed, NoTarget, told
from chaoskafka.faults import Injected
from chaoskafka.scenario.plan import Planned, PlannedGroup, PlannedPlace, PlannedStep

ACTION_S = 1.5  # an action is looked at for so long: clients that it drove elsewhere ask for metadata within a second

Ready = Callable[[], None]  # called right before a deed
Watch = Callable[[Injected | None], None]  # waits until a condition holds; raises WaitTimeout


class Hands(Protocol):
    """What the nemesis does its work with. Each blocks; each but `watch` raises what goes wrong."""

    def fault(self, step: PlannedStep, ready: Ready) -> AbstractContextManager[Injected]: ...
    def gate(self) -> None:
        """Until the cluster is whole and under steady load."""
        ...

    def watch(self, condition: Condition) -> Watch:
        """Look at what is, so that a change can be told; the waiting comes with the answer."""
        ...

    def place(self, place: PlannedPlace) -> None: ...


def play(plan: Sequence[Planned], *, hands: Hands, clock: Clock) -> None:
    """Play all of it. Blocks.

    Every fault that was entered has been left on return, whatever was raised: FaultFailed, NoTarget, WaitTimeout (a
    gate or a condition that did not come), Interrupted.
    """
    player = _Player(hands, clock)
    for item in plan:
        player.play(item, gated=True)


class _Arrival:
    """One of several that strike at once: waits once, right before its first deed, until all have come so far."""

    def __init__(self, barrier: Barrier) -> None:
        self._barrier, self._come = barrier, False

    def __call__(self) -> None:
        if not self._come:
            self._come = True
            try:
                self._barrier.wait()
            except BrokenBarrierError:
                raise FaultFailed("another one that was to strike at the same time did not come to it") from None

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        if not self._come:
            self._come = True
            self._barrier.abort()


def _nothing() -> None: ...


class _Player:
    def __init__(self, hands: Hands, clock: Clock) -> None:
        self._hands, self._clock = hands, clock

    def play(self, item: Planned, *, gated: bool, ready: Ready = _nothing) -> None:
        """`gated`: false inside `together`, where no cluster is whole."""
        if isinstance(item, PlannedGroup) and item.word != "together":
            for step in item.steps:
                self.play(step, gated=gated, ready=ready)
            return
        self._wait_before(item, gated=gated)
        match item:
            case PlannedPlace():
                self._hands.place(item)
            case PlannedGroup():
                self._together(item.steps)
            case PlannedStep():
                self._step(item, ready)

    def _wait_before(self, item: Planned, *, gated: bool) -> None:
        if item.when is not None:
            self._hands.watch(item.when)(None)
        elif gated and not item.no_wait:
            self._hands.gate()
        self._clock.pause(item.after_s)

    def _step(self, step: PlannedStep, ready: Ready) -> None:
        entered = False
        # What leads now must be known before the fault changes it.
        watch = self._hands.watch(step.until) if step.until is not None else None
        try:
            with self._hands.fault(step, ready) as hit:
                entered = True
                if watch is not None:
                    watch(hit)
                else:
                    self._clock.pause(getattr(step.fault, "for_s", None) or ACTION_S)
        except NoTarget:
            if entered or not step.may_skip:
                raise

    def _together(self, steps: Sequence[Planned]) -> None:
        """One thread each. All have ended on return; the first error is raised, the others are its notes."""
        barrier = Barrier(len(steps))
        with ThreadPoolExecutor(max_workers=len(steps), thread_name_prefix="together") as pool:
            futures = [pool.submit(self._one, step, _Arrival(barrier)) for step in steps]
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            # Who only waited in vain for another one is not what went wrong.
            first = next((error for error in errors if not _is_in_vain(error)), errors[0])
            for other in errors:
                if other is not first:
                    first.add_note(f"at the same time: {told(other)}")
            raise first

    def _one(self, step: Planned, arrival: _Arrival) -> None:
        try:
            self.play(step, gated=False, ready=arrival)
        finally:
            arrival.give_up()


def _is_in_vain(error: BaseException) -> bool:
    return isinstance(error, FaultFailed) and isinstance(error.__context__, BrokenBarrierError)
