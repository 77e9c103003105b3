"""A session over a cluster in memory: a fault's events in every way that it may go, and the observer's life."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.clock import ManualClock
from chaoskafka.cluster.abilities import CanKill, ExitStatus
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import CommandFailed, EnvironmentFailure, FaultFailed, NoTarget, RunTimeout, WaitTimeout
from chaoskafka.faults.kill import Kill
from chaoskafka.history.events import EventLog, FaultWindow, fault_windows, read_events
from chaoskafka.history.header import TopicFacts
from chaoskafka.progress import Silent
from chaoskafka.scenario.plan import PlannedStep
from chaoskafka.session import Session
from chaoskafka.stage import TargetStage
from chaoskafka.traffic import Traffic
from tests.memory_cluster import MemoryCluster, MemoryViews, Trouble


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with EventLog(tmp_path / "events.jsonl") as log:
        yield log


def session(log: EventLog, where: Path, trouble: Mapping[str, Trouble] | None = None) -> Session:
    cluster = MemoryCluster(ClusterSpec(), trouble or {})
    cluster.topics["orders"] = TopicSpec(partitions=3)
    return Session(
        run_dir=where,
        events=log,
        clock=ManualClock(),
        progress=Silent(),
        cluster=cluster,  # type: ignore[arg-type]
        views=MemoryViews(cluster),  # type: ignore[arg-type]
    )


def step(target: str = "leader of orders/1") -> PlannedStep:
    fault = Kill(target=Target.parse(target), for_s=1, settle_s=0.05, heal_s=0.05)
    return PlannedStep(index=0, after_s=0, word="kill", fault=fault, seed=7)


def states(where: Path) -> list[str]:
    return [event.fields["state"] for event in read_events(where / "events.jsonl") if event.event == "fault"]


def window(where: Path) -> FaultWindow:
    (only,) = fault_windows(read_events(where / "events.jsonl"))
    return only


def test_a_fault_leaves_four_events_with_targets_evidence_and_proofs(log: EventLog, tmp_path: Path) -> None:
    one = session(log, tmp_path)
    with one.fault(step()) as hit:
        assert hit.targets == (2,)
        assert not one.cluster.nodes[2].state().running
        assert one.healing_ns is None
        assert "since the fault" in one.status(None)
    assert one.cluster.nodes[2].state().running
    assert states(tmp_path) == ["beginning", "active", "healing", "healed"]
    seen = window(tmp_path)
    assert (seen.targets, seen.acted_ns, seen.healing_ns) == ((2,), hit.acted_ns, one.healing_ns)
    assert seen.evidence["partitions"]["orders/1"]["leader"] == 2
    assert seen.proof
    assert seen.heal_proof
    assert seen.failure is None


def test_a_kill_that_does_nothing_never_becomes_active(log: EventLog, tmp_path: Path) -> None:
    def lie(cluster: MemoryCluster) -> None:
        for node in cluster.nodes.values():
            node.__class__ = type("Liar", (type(node),), {"kill": lambda self: honest(self, cluster)})

    def honest(node: Any, cluster: MemoryCluster) -> Any:
        deed = super(type(node), node).kill()
        node.running = True
        return deed

    one = session(log, tmp_path, {"ask_all": lie})
    with pytest.raises(FaultFailed, match="not seen to bite"), one.fault(step()):
        pytest.fail("it was entered")
    assert states(tmp_path) == ["beginning", "failed"]
    assert window(tmp_path).proof is None


def test_a_window_that_is_cut_short_is_seen_to_heal_all_the_same(log: EventLog, tmp_path: Path) -> None:
    one = session(log, tmp_path)
    with pytest.raises(RunTimeout), one.fault(step()):
        raise RunTimeout("time is up")
    assert states(tmp_path) == ["beginning", "active", "healing", "healed", "failed"]
    seen = window(tmp_path)
    assert seen.heal_proof
    assert seen.failure == "RunTimeout: time is up"
    assert one.healing_ns == seen.healing_ns


def test_a_heal_that_fails_is_told_and_recovery_is_not_counted_from_it(log: EventLog, tmp_path: Path) -> None:
    def refuse(_: MemoryCluster) -> None:
        raise WaitTimeout("no new process")

    one = session(log, tmp_path, {"start": refuse})
    with pytest.raises(FaultFailed, match="no new process"), one.fault(step()):
        pass
    assert states(tmp_path) == ["beginning", "active", "healing", "failed"]
    assert window(tmp_path).heal_proof is None
    assert one.healing_ns is None


def test_what_failed_while_healing_after_another_error_is_told_too(log: EventLog, tmp_path: Path) -> None:
    def refuse(_: MemoryCluster) -> None:
        raise WaitTimeout("no new process")

    one = session(log, tmp_path, {"start": refuse})
    with pytest.raises(RunTimeout), one.fault(step()):
        raise RunTimeout("time is up")
    assert "no new process" in (window(tmp_path).failure or "")


def test_restoring_starts_what_is_dead(log: EventLog, tmp_path: Path) -> None:
    one = session(log, tmp_path)
    one.cluster.nodes[2].kill()  # type: ignore[attr-defined]
    one.restore()
    assert one.cluster.nodes[2].state().running
    assert one.unstarted == ()


def test_a_restore_that_starts_nothing_is_not_laid_at_kafkas_door(log: EventLog, tmp_path: Path) -> None:
    def pretend(cluster: MemoryCluster) -> None:
        cluster.nodes[2].start = lambda within_s: None  # type: ignore[method-assign,assignment,return-value]

    one = session(log, tmp_path, {"restore": pretend})
    one.cluster.nodes[2].kill()  # type: ignore[attr-defined]
    with pytest.raises(FaultFailed, match="nothing was started on node-2"):
        one.restore()
    assert one.unstarted == ("node-2",)


def test_kafka_that_ends_right_after_its_start_is_another_matter(log: EventLog, tmp_path: Path) -> None:
    def start_in_vain(cluster: MemoryCluster) -> None:
        cluster.nodes[2].starts += 1
        raise CommandFailed("start", 1, "disk error")

    one = session(log, tmp_path, {"restore": start_in_vain})
    one.cluster.nodes[2].kill()  # type: ignore[attr-defined]
    with pytest.raises(CommandFailed):
        one.restore()
    assert one.unstarted == ()


def test_nobody_to_hit_is_told(log: EventLog, tmp_path: Path) -> None:
    one = session(log, tmp_path)
    with pytest.raises(NoTarget), one.fault(step("broker 1, not broker 1")):
        pytest.fail("it was entered")
    assert states(tmp_path) == ["beginning", "failed"]
    assert "fits nobody" in (window(tmp_path).failure or "")


def test_a_node_without_the_ability_is_no_target(log: EventLog, tmp_path: Path) -> None:
    one = session(log, tmp_path)
    stage = TargetStage(one.cluster, one.views, random.Random(1))

    class CanFly(CanKill):
        """No node of ours can."""

    with pytest.raises(NoTarget, match="node 2 of this runtime has no ability CanFly"):
        stage.resolve(Target.parse("broker 2"), CanFly)
    assert stage.evidence["chosen"] == [2]


def test_what_the_observer_saw_is_in_the_run_directory(log: EventLog, tmp_path: Path) -> None:
    one = session(log, tmp_path)
    with one.observer(()):
        assert one.watching is not None
        assert one.ended(Traffic((), log)) == []
    assert (tmp_path / "logs" / "observer" / "stderr.log").exists()
    assert one.cluster.clients["observer"].signals == ["TERM"]  # type: ignore[attr-defined]


def test_nothing_begins_before_the_observer_knows_who_leads_each_partition(log: EventLog, tmp_path: Path) -> None:
    def find_out(cluster: MemoryCluster) -> None:
        if cluster.times("latest") == 3:
            cluster.topics["orders"] = TopicSpec(partitions=3)

    one = session(log, tmp_path, {"latest": find_out})
    cluster: MemoryCluster = one.cluster  # type: ignore[assignment]
    cluster.topics["orders"] = TopicSpec(partitions=2)
    orders = TopicFacts(name="orders", index=0, topic_id="-", partitions=3, replication_factor=3, min_insync_replicas=2)
    with one.observer((orders,)):
        assert cluster.times("latest") == 3


def test_an_observer_that_ends_at_once_is_an_environment_at_fault(log: EventLog, tmp_path: Path) -> None:
    def die(cluster: MemoryCluster) -> None:
        cluster.clients["observer"].end = ExitStatus(code=1, signal=None)

    one = session(log, tmp_path, {"exited": die})
    with pytest.raises(EnvironmentFailure, match="ended at once"), one.observer(()):
        pytest.fail("it was entered")
    assert (tmp_path / "logs" / "observer").is_dir()


def test_an_observer_that_dies_later_is_named(log: EventLog, tmp_path: Path) -> None:
    one = session(log, tmp_path)
    with one.observer(()):
        one.cluster.clients["observer"].end = ExitStatus(code=None, signal=9)  # type: ignore[attr-defined]
        assert one.ended(Traffic((), log)) == [
            "the observer ended: ExitStatus(code=None, signal=9, out_of_memory=False)"
        ]


def test_a_runtime_without_a_place_for_clients_is_refused(log: EventLog, tmp_path: Path) -> None:
    one = session(log, tmp_path)
    one.cluster = object()  # type: ignore[assignment]
    with pytest.raises(EnvironmentFailure, match="no place for clients"), one.traffic(()):
        pytest.fail("it was entered")
