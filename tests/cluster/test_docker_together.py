"""What strikes together on a real cluster does so within one instant."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from chaoskafka.clock import NS_PER_S, MonotonicClock
from chaoskafka.cluster.abilities import Cluster
from chaoskafka.cluster.conditions import Condition
from chaoskafka.cluster.ready import wait_recovered
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.views import Views
from chaoskafka.faults import Injected
from chaoskafka.faults.kill import Kill
from chaoskafka.nemesis import Ready, Watch, play
from chaoskafka.scenario.plan import PlannedGroup, PlannedPlace, PlannedStep
from chaoskafka.stage import TargetStage

pytestmark = [pytest.mark.docker, pytest.mark.nightly]
SKEW_S = 0.1  # two signals, sent by two threads of one process on a busy machine


@dataclass
class Hands:
    """Plays faults on a cluster, and nothing else."""

    cluster: Cluster
    views: Views
    acted_ns: list[int] = field(default_factory=list)

    @contextmanager
    def fault(self, step: PlannedStep, ready: Ready) -> Iterator[Injected]:
        stage = TargetStage(self.cluster, self.views, random.Random(1), ready=ready)
        with step.fault.inject(stage) as hit:
            self.acted_ns.append(hit.acted_ns)
            yield hit

    def gate(self) -> None: ...

    def watch(self, condition: Condition) -> Watch:
        raise NotImplementedError

    def place(self, place: PlannedPlace) -> None:
        raise NotImplementedError


def test_two_of_three_die_within_one_instant(three: Cluster, views: Views) -> None:
    hands = Hands(three, views)
    steps = tuple(
        PlannedStep(
            index=i,
            after_s=0,
            word="kill",
            fault=Kill(target=Target.parse(f"broker {broker}"), for_s=1),
            seed=1,
        )
        for i, broker in enumerate((2, 3))
    )
    play([PlannedGroup(word="together", steps=steps)], hands=hands, clock=MonotonicClock())
    first_ns, second_ns = hands.acted_ns
    assert abs(first_ns - second_ns) < SKEW_S * NS_PER_S
    wait_recovered(views, three.spec, within_s=60, clock=MonotonicClock())
