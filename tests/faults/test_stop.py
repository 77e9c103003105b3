"""Stop over nodes in memory: a clean end, one that had to be forced, and what is undone. Real ones: tests/cluster."""

from __future__ import annotations

import pytest

from chaoskafka.cluster.abilities import CanKill, CanStop, Deed, NodeState
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed
from chaoskafka.faults.ending import AfterGrace
from chaoskafka.faults.stop import Stop
from tests.faults.stand import Stand
from tests.memory_cluster import MemoryCluster, MemoryNode

DEED = Deed(what="SIGTERM", means="memory", acted_ns=1)


class Deaf(MemoryNode):
    """Takes no notice of SIGTERM, as behind a shell that does not pass it on."""

    def terminate(self) -> Deed:
        return DEED


class Slow(MemoryNode):
    """Ends only when it is looked at for the third time."""

    looks = 0

    def terminate(self) -> Deed:
        return DEED

    def state(self) -> NodeState:
        self.looks += 1
        if self.looks == 4:  # the first look was before
            super().terminate()
        return super().state()


class Crashing(MemoryNode):
    """Ends at once, but not as after SIGTERM."""

    def terminate(self) -> Deed:
        self.running, self.exit_code = False, 1
        return DEED


def stop(target: str, *, grace_s: float = 0.05, after_grace: AfterGrace = "fail") -> Stop:
    return Stop(target=Target.parse(target), grace_s=grace_s, after_grace=after_grace, settle_s=0.05, heal_s=0.05)


def test_fields_are_the_yaml_keys() -> None:
    fault = Stop(target=Target.parse("leader of orders/0"), for_s=15)
    assert (fault.for_s, fault.needs, fault.after_grace) == (15, (CanStop, CanKill), "fail")


@pytest.mark.parametrize("name", ["for_s", "grace_s", "settle_s", "heal_s"])
def test_lengths_are_positive(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Stop(target=Target.parse("any"), **{name: 0})  # type: ignore[arg-type]


def test_those_who_are_asked_end_by_themselves_and_are_seen_alive_again() -> None:
    stand = Stand()
    stand.cluster.fenced = {2}
    stand.become(2, Slow)
    with stand.inject(stop("all", grace_s=30)) as hit:
        assert stand.running == []
        assert {(seen["exit_code"], seen["clean"], seen["ended_by"]) for seen in hit.proof.values()} == {
            (143, True, "SIGTERM")
        }
        assert hit.proof["node-2"]["fenced_by"] == [1, 2, 3]
        assert hit.proof["node-1"]["fenced_by"] == []
    assert stand.running == [1, 2, 3]
    assert hit.heal_proof is not None
    assert stand.cluster.times("kill") == 0


def test_a_stop_that_became_a_kill_is_no_stop_and_leaves_nobody_half_stopped() -> None:
    stand = Stand()
    stand.become(2, Deaf)
    with (
        pytest.raises(FaultFailed, match=r"0\.05 s of grace, so it was killed: that is no stop"),
        stand.inject(stop("all")),
    ):
        pytest.fail("it was entered")
    assert stand.cluster.times("kill") == 1
    assert stand.running == [1, 2, 3]
    assert stand.cluster.nodes[2].starts == 2


def test_whoever_asks_for_it_gets_a_kill_that_is_named_so() -> None:
    stand = Stand()
    stand.become(2, Deaf)
    with stand.inject(stop("all", after_grace="kill")) as hit:
        told = {name: (seen["exit_code"], seen["clean"]) for name, seen in hit.proof.items()}
        assert told == {"node-1": (143, True), "node-2": (137, False), "node-3": (143, True)}
        assert hit.proof["node-2"]["ended_by"] == "SIGKILL, after 0.05 s of grace: no stop"
    assert stand.running == [1, 2, 3]


def test_an_end_by_another_cause_is_not_taken_for_a_stop() -> None:
    stand = Stand()
    stand.become(2, Crashing)
    with pytest.raises(FaultFailed, match="not seen to bite"), stand.inject(stop("broker 2")):
        pytest.fail("it was entered")
    assert stand.running == [1, 2, 3]


def test_a_node_that_was_down_already_is_not_touched() -> None:
    stand = Stand()
    stand.cluster.nodes[2].running = False
    with pytest.raises(FaultFailed, match="node-2 was down already"), stand.inject(stop("all")):
        pytest.fail("it was entered")
    assert stand.running == [1, 3]


def test_a_second_one_that_cannot_be_asked_starts_the_first_again() -> None:
    def refuse(cluster: MemoryCluster) -> None:
        if cluster.times("terminate node") == 2:
            raise FaultFailed("no such process")

    stand = Stand({"terminate node": refuse})
    with pytest.raises(FaultFailed, match="no such process"), stand.inject(stop("all")):
        pytest.fail("it was entered")
    assert stand.running == [1, 2, 3]


RECORD = {"offset": 40, "lo_ns": 5, "hi_ns": 9}


def test_a_stop_bites_when_the_controllers_grant_it() -> None:
    stand = Stand()
    stand.stopping = lambda: {} if 2 in stand.running else {2: RECORD}
    with stand.inject(stop("broker 2", grace_s=30)) as hit:
        assert hit.proof["node-2"]["controlled_shutdown"] == RECORD


def test_an_end_that_the_controllers_never_granted_is_no_stop() -> None:
    stand = Stand()
    stand.stopping = lambda: {2: RECORD}  # of an earlier stop
    with (
        pytest.raises(FaultFailed, match="grant broker 2 its controlled shutdown"),
        stand.inject(stop("broker 2", grace_s=30)),
    ):
        pass
    assert stand.running == [1, 2, 3]


def test_without_a_majority_of_controllers_nobody_grants_anything() -> None:
    stand = Stand()
    stand.stopping = dict
    with stand.inject(stop("all", grace_s=30)) as hit:
        assert [seen["controlled_shutdown"] for seen in hit.proof.values()] == [None] * 3


def test_where_nobody_reads_the_log_the_end_of_the_process_is_what_is_seen() -> None:
    with Stand().inject(stop("broker 2", grace_s=30)) as hit:
        assert "controlled_shutdown" not in hit.proof["node-2"]
