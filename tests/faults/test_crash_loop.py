"""Crash loop over nodes in memory: every death is seen, and in the end there is life."""

from __future__ import annotations

import pytest

from chaoskafka.clock import NS_PER_S, ManualClock
from chaoskafka.cluster.abilities import CanKill, Deed
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed, Interrupted
from chaoskafka.faults import has_window
from chaoskafka.faults.crash_loop import CrashLoop
from tests.faults.stand import Stand
from tests.memory_cluster import MemoryCluster, MemoryNode


def crash_loop(target: str, times: int = 3) -> CrashLoop:
    return CrashLoop(target=Target.parse(target), times=times, up_s=2, settle_s=0.05, heal_s=0.05)


@pytest.mark.parametrize("value", [0, -1, 101])
def test_the_number_of_deaths_is_bounded(value: int) -> None:
    with pytest.raises(ValueError, match=r"times: .* is not between 1 and 100"):
        crash_loop("any", value)


def test_it_dies_once_and_again_at_each_start() -> None:
    assert not has_window(crash_loop("any"))
    assert CrashLoop.needs == (CanKill,)
    stand = Stand()
    with stand.inject(crash_loop("broker 2")) as hit:
        assert stand.running == [1, 3]
        assert stand.clock.now_ns() == 3 * 2 * NS_PER_S
        deaths = [hit.proof, *hit.proof["again"]]  # type: ignore[misc]
        assert [death["node-2"]["process_started_at"] for death in deaths] == [f"start {n}" for n in (1, 2, 3, 4)]
        assert {death["node-2"]["exit_code"] for death in deaths} == {137}
    assert stand.running == [1, 2, 3]
    assert stand.starts == [1, 5, 1]
    assert hit.heal_proof is not None


class Fragile(MemoryNode):
    """Its second process ends before it can be killed."""

    def start(self, *, within_s: float) -> Deed:
        deed = super().start(within_s=within_s)
        self.running = self.starts != 2
        self.exit_code = 1
        return deed

    def kill(self) -> Deed:
        if not self.running:
            raise FaultFailed("there is nothing to kill")
        return super().kill()


def test_a_process_that_ends_by_itself_is_no_death_of_ours() -> None:
    stand = Stand()
    stand.become(2, Fragile)
    with pytest.raises(FaultFailed, match="nothing to kill"), stand.inject(crash_loop("broker 2")):
        pytest.fail("it was entered")
    assert stand.running == [1, 2, 3]


def test_a_stop_in_the_middle_leaves_all_running() -> None:
    class Stopped(ManualClock):
        def pause(self, seconds: float) -> None:
            raise Interrupted("Ctrl-C")

    stand = Stand(clock=Stopped())
    with pytest.raises(Interrupted), stand.inject(crash_loop("all")):
        pytest.fail("it was entered")
    assert stand.running == [1, 2, 3]


def test_a_kill_that_cannot_be_sent_leaves_all_running() -> None:
    def refuse(cluster: MemoryCluster) -> None:
        if cluster.times("kill") == 5:
            raise FaultFailed("no such process")

    stand = Stand({"kill": refuse})
    with pytest.raises(FaultFailed, match="no such process"), stand.inject(crash_loop("all")):
        pytest.fail("it was entered")
    assert stand.running == [1, 2, 3]
