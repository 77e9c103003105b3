"""Restart over nodes in memory: one clean end and one start each, and nothing half done."""

from __future__ import annotations

import pytest

from chaoskafka.cluster.abilities import CanKill, CanStop, Deed
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed, WaitTimeout
from chaoskafka.faults import has_window
from chaoskafka.faults.restart import Restart
from tests.faults.stand import Stand
from tests.memory_cluster import MemoryCluster, MemoryNode


def restart(target: str) -> Restart:
    return Restart(target=Target.parse(target), grace_s=0.05, settle_s=0.05, heal_s=0.05)


@pytest.mark.parametrize("name", ["grace_s", "settle_s", "heal_s"])
def test_lengths_are_positive(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Restart(target=Target.parse("any"), **{name: 0})  # type: ignore[arg-type]


def test_it_is_an_action_that_stops_and_starts_on_entering() -> None:
    assert not has_window(restart("any"))
    assert Restart.needs == (CanStop, CanKill)
    stand = Stand()
    with stand.inject(restart("all")) as hit:
        assert stand.starts == [2, 2, 2]
        assert stand.running == [1, 2, 3]
        assert hit.proof["restarted"] == ["node-1", "node-2", "node-3"]
        assert hit.proof["node-2"]["exit_code"] == 143  # type: ignore[index]
        assert hit.heal_proof is None
    assert hit.heal_proof is not None
    assert hit.heal_proof["node-2"]["process_started_at"] == "start 2"  # type: ignore[index]
    assert stand.starts == [2, 2, 2]
    assert stand.cluster.times("kill") == 0


def test_one_that_does_not_start_is_told_and_the_others_run() -> None:
    def refuse(cluster: MemoryCluster) -> None:
        if cluster.times("start") in (2, 5):
            raise WaitTimeout("no new process")

    stand = Stand({"start": refuse})
    with (
        pytest.raises(FaultFailed, match="it stopped and did not start: no new process") as told,
        stand.inject(restart("all")),
    ):
        pytest.fail("it was entered")
    assert stand.running == [1, 3]
    assert "while taking it back: no new process" in told.value.__notes__[0]


class Dying(MemoryNode):
    """Its new process ends at once."""

    def start(self, *, within_s: float) -> Deed:
        deed = super().start(within_s=within_s)
        self.running = False
        return deed


def test_a_new_process_that_ends_is_no_restart() -> None:
    stand = Stand()
    stand.become(2, Dying)
    with pytest.raises(FaultFailed, match="not seen to heal"), stand.inject(restart("broker 2")):
        pass
