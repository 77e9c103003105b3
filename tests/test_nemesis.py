"""The nemesis: order, windows, faults that last, and that everything entered is left whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from chaoskafka.clock import NS_PER_S, ManualClock
from chaoskafka.errors import FaultFailed, Interrupted, NoTarget, WaitTimeout
from chaoskafka.faults import Injected, Stage
from chaoskafka.nemesis import ACTION_S, play
from chaoskafka.scenario.plan import PlannedStep


@dataclass(frozen=True)
class Window:
    """A fault that only has a length."""

    for_s: float | None
    needs = ()

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        raise NotImplementedError


class Log:
    """Records when each fault was entered and left, on a manual clock."""

    def __init__(self, on_enter: Callable[[int], None] = lambda _: None) -> None:
        self.clock = ManualClock()
        self.lines: list[tuple[str, int, float]] = []
        self._on_enter = on_enter

    def say(self, what: str, index: int) -> None:
        self.lines.append((what, index, self.clock.now_ns() / NS_PER_S))

    @contextmanager
    def fault(self, step: PlannedStep) -> Iterator[Injected]:
        self._on_enter(step.index)
        self.say("enter", step.index)
        try:
            yield Injected(targets=(1,), acted_ns=0, proof={})
        finally:
            self.say("leave", step.index)

    def gate(self) -> None:
        self.say("gate", -1)


def steps(*lengths: float | None) -> list[PlannedStep]:
    return [PlannedStep(index=i, after_s=5, word="kill", fault=Window(s), seed=i) for i, s in enumerate(lengths)]


def test_each_fault_waits_for_the_gate_then_for_its_time_and_lasts_as_long_as_it_says() -> None:
    log = Log()
    play(steps(10, 20), fault=log.fault, gate=log.gate, clock=log.clock)
    assert log.lines == [
        ("gate", -1, 0), ("enter", 0, 5), ("leave", 0, 15),
        ("gate", -1, 15), ("enter", 1, 20), ("leave", 1, 40),
    ]  # fmt: skip


def test_an_action_is_looked_at_for_a_moment() -> None:
    log = Log()
    play(steps(None), fault=log.fault, gate=log.gate, clock=log.clock)
    assert log.lines == [("gate", -1, 0), ("enter", 0, 5), ("leave", 0, 5 + ACTION_S)]


@pytest.mark.parametrize("error", [FaultFailed("no bite"), NoTarget("nobody"), Interrupted("Ctrl-C"), OSError("bug")])
def test_what_was_entered_is_left_when_a_later_fault_raises(error: Exception) -> None:
    def on_enter(index: int) -> None:
        if index == 1:
            raise error

    log = Log(on_enter)
    with pytest.raises(type(error)):
        play(steps(10, 10, 10), fault=log.fault, gate=log.gate, clock=log.clock)
    assert [line[:2] for line in log.lines] == [("gate", -1), ("enter", 0), ("leave", 0), ("gate", -1)]


def test_a_gate_that_stays_shut_ends_the_plan() -> None:
    log = Log()

    def shut() -> None:
        raise WaitTimeout("never whole")

    with pytest.raises(WaitTimeout):
        play(steps(10), fault=log.fault, gate=shut, clock=log.clock)
    assert log.lines == []
