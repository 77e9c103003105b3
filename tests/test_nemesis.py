"""The nemesis: order, windows, conditions, what strikes at once, and that what was entered is left whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from chaoskafka.clock import NS_PER_S, ManualClock
from chaoskafka.cluster.conditions import Condition
from chaoskafka.errors import FaultFailed, Interrupted, NoTarget, WaitTimeout
from chaoskafka.faults import Fault, Injected, Stage
from chaoskafka.nemesis import ACTION_S, Ready, Watch, play
from chaoskafka.scenario.nodes import Place
from chaoskafka.scenario.plan import Planned, PlannedGroup, PlannedPlace, PlannedStep

JOINED_S = 30.0  # for threads that meet at once on a quiet machine
FENCED, WHOLE = Condition.parse("fenced"), Condition.parse("recovered")


@dataclass(frozen=True)
class Window:
    """A fault that only has a length."""

    for_s: float | None
    needs = ()

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        raise NotImplementedError


@dataclass(frozen=True)
class Action(Fault):
    """One that has none."""

    needs = ()


@dataclass
class Log:
    """Hands that record what they did and when, on a manual clock."""

    on_enter: Callable[[int], None] = lambda _: None
    on_wait: Callable[[Condition], None] = lambda _: None
    clock: ManualClock = field(default_factory=ManualClock)
    lines: list[tuple[str, int, float]] = field(default_factory=list)

    def say(self, what: str, index: int = -1) -> None:
        self.lines.append((what, index, self.clock.now_ns() / NS_PER_S))

    @contextmanager
    def fault(self, step: PlannedStep, ready: Ready) -> Iterator[Injected]:
        self.on_enter(step.index)
        ready()
        self.say("enter", step.index)
        try:
            yield Injected(targets=(step.index,), acted_ns=0, proof={})
        finally:
            self.say("leave", step.index)

    def gate(self) -> None:
        self.say("gate")

    def watch(self, condition: Condition) -> Watch:
        self.say(f"look {condition}")

        def wait(hit: Injected | None) -> None:
            self.clock.pause(3)
            self.say(f"wait {condition}", -1 if hit is None else hit.targets[0])
            self.on_wait(condition)

        return wait

    def place(self, place: PlannedPlace) -> None:
        self.say(f"place {place.place.leader_of}")

    @property
    def words(self) -> list[tuple[str, int]]:
        return [line[:2] for line in self.lines]


def step(index: int, for_s: float | None = 10, **fields: object) -> PlannedStep:
    fault = Window(for_s) if for_s is not None else Action()
    return PlannedStep(**{"index": index, "after_s": 5, "word": "kill", "fault": fault, "seed": index, **fields})  # type: ignore[arg-type]


def together(*steps: Planned) -> PlannedGroup:
    return PlannedGroup(word="together", after_s=1, steps=steps)


def play_on(log: Log, *plan: Planned) -> None:
    play(plan, hands=log, clock=log.clock)


def test_each_fault_waits_for_the_gate_then_for_its_time_and_lasts_as_long_as_it_says() -> None:
    log = Log()
    play_on(log, step(0, 10), step(1, 20))
    assert log.lines == [
        ("gate", -1, 0), ("enter", 0, 5), ("leave", 0, 15),
        ("gate", -1, 15), ("enter", 1, 20), ("leave", 1, 40),
    ]  # fmt: skip


def test_an_action_is_looked_at_for_a_moment() -> None:
    log = Log()
    play_on(log, step(0, None))
    assert log.lines == [("gate", -1, 0), ("enter", 0, 5), ("leave", 0, 5 + ACTION_S)]


def test_a_condition_stands_for_the_gate_and_another_for_the_length() -> None:
    log = Log()
    play_on(log, step(0, when=WHOLE, until=FENCED))
    assert log.lines == [
        ("look recovered", -1, 0), ("wait recovered", -1, 3),
        ("look fenced", -1, 8), ("enter", 0, 8), ("wait fenced", 0, 11), ("leave", 0, 11),
    ]  # fmt: skip


def test_a_deliberate_race_waits_for_nothing_but_its_time() -> None:
    log = Log()
    play_on(log, step(0, no_wait=True))
    assert log.lines == [("enter", 0, 5), ("leave", 0, 15)]


def test_a_group_is_its_steps_and_a_place_comes_before_the_next() -> None:
    log = Log()
    place = PlannedPlace(place=Place(leader_of="orders/0", on="broker 2"), seed=1, after_s=2)
    play_on(log, place, PlannedGroup(word="repeat", steps=(step(0), PlannedGroup(word="flap", steps=(step(1),)))))
    assert log.words == [
        ("gate", -1), ("place orders/0", -1),
        ("gate", -1), ("enter", 0), ("leave", 0), ("gate", -1), ("enter", 1), ("leave", 1),
    ]  # fmt: skip


@pytest.mark.parametrize("error", [FaultFailed("no bite"), NoTarget("nobody"), Interrupted("Ctrl-C"), OSError("bug")])
def test_an_error_ends_the_plan_and_leaves_what_was_entered(error: Exception) -> None:
    def on_enter(index: int) -> None:
        if index == 1:
            raise error

    log = Log(on_enter)
    with pytest.raises(type(error)):
        play_on(log, step(0), step(1), step(2))
    assert log.words == [("gate", -1), ("enter", 0), ("leave", 0), ("gate", -1)]


def test_a_condition_that_does_not_come_ends_the_plan_and_the_fault_is_left() -> None:
    def on_wait(_: Condition) -> None:
        raise WaitTimeout("never fenced")

    log = Log(on_wait=on_wait)
    with pytest.raises(WaitTimeout, match="never fenced"):
        play_on(log, step(0, until=FENCED), step(1))
    assert log.words[-2:] == [("wait fenced", 0), ("leave", 0)]


def test_a_gate_that_stays_shut_ends_the_plan() -> None:
    class Shut(Log):
        def gate(self) -> None:
            raise WaitTimeout("never whole")

    log = Shut()
    with pytest.raises(WaitTimeout):
        play_on(log, step(0))
    assert log.lines == []


def nobody(index: int) -> None:
    if index == 0:
        raise NoTarget("nobody fits")


def test_one_that_was_drawn_is_skipped_for_want_of_a_target_and_any_other_is_not() -> None:
    log = Log(nobody)
    play_on(log, step(0, may_skip=True), step(1))
    assert log.words == [("gate", -1), ("gate", -1), ("enter", 1), ("leave", 1)]
    with pytest.raises(NoTarget):
        play_on(Log(nobody), step(0), step(1))


def test_only_a_missing_target_is_a_reason_to_skip() -> None:
    def fail(_: int) -> None:
        raise FaultFailed("no bite")

    def gone(_: Condition) -> None:
        raise NoTarget("while it was in force")

    with pytest.raises(FaultFailed):
        play_on(Log(fail), step(0, may_skip=True))
    with pytest.raises(NoTarget):
        play_on(Log(on_wait=gone), step(0, may_skip=True, until=FENCED))


def test_what_is_to_strike_together_waits_for_the_last_of_them() -> None:
    resolved = threading.Barrier(3, timeout=JOINED_S)  # all are in, each in a thread of its own

    def on_enter(index: int) -> None:
        if index < 3:
            resolved.wait()

    log = Log(on_enter)
    sequence = PlannedGroup(word="sequence", steps=(step(2, after_s=0), step(3, after_s=0)))
    play_on(log, together(step(0, after_s=0), step(1, after_s=0), sequence))
    words = log.words
    assert words[0] == ("gate", -1)
    assert words.count(("gate", -1)) == 1, "nothing inside waits for a whole cluster"
    assert {index for what, index in words if what == "enter"} == {0, 1, 2, 3}
    assert words.index(("leave", 2)) < words.index(("enter", 3))
    assert sorted(words[1:]) == sorted((what, index) for index in range(4) for what in ("enter", "leave"))


def test_nobody_strikes_when_one_of_them_finds_no_target() -> None:
    log = Log(nobody)
    with pytest.raises(NoTarget, match="nobody fits") as told:
        play_on(log, together(step(0, after_s=0), step(1, after_s=0), step(2, after_s=0)))
    assert log.words == [("gate", -1)]
    assert len(told.value.__notes__) == 2
    assert all("did not come to it" in note for note in told.value.__notes__)


def test_one_that_fails_later_does_not_keep_the_others_from_their_time() -> None:
    def on_wait(_: Condition) -> None:
        raise WaitTimeout("never fenced")

    log = Log(on_wait=on_wait)
    with pytest.raises(WaitTimeout, match="never fenced"):
        play_on(log, together(step(0, after_s=0, until=FENCED), step(1, after_s=0)), step(2))
    assert {index for what, index in log.words if what == "leave"} == {0, 1}
