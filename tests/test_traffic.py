"""Traffic over clients in memory: what is waited for, in which order workers end, and what is left of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.clock import NS_PER_S, ManualClock
from chaoskafka.cluster.abilities import ExitStatus
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.errors import EnvironmentFailure, WaitTimeout
from chaoskafka.history.events import EventLog, read_events
from chaoskafka.history.tables import TopicPartition
from chaoskafka.traffic import STEADY_MESSAGES, STEADY_S, Traffic, _Heard
from chaoskafka.workloads.worker.arguments import CONSUME, PRODUCE, WorkerArguments
from tests.memory_cluster import MemoryCluster, MemoryProcess, Trouble

P0, P1 = "orders/0", "orders/1"
THEIR_NOW_NS = 7_000 * NS_PER_S  # workers may stand on another clock than the harness


class Scripted(MemoryProcess):
    """Says what a test wants, in a new status line each time, unless the test gives it the time of one."""

    said: Mapping[str, Any] | None = None
    at_ns: int = THEIR_NOW_NS

    def latest(self) -> Mapping[str, Any] | None:
        self.at_ns += 1
        return None if self.said is None else {"at_ns": self.at_ns, **self.said}


def worker(number: int, role: str, *, rate_per_s: float = 100.0) -> WorkerArguments:
    return WorkerArguments(
        run_id="r",
        worker=number,
        role=role,
        topics=("orders",),
        topic="orders",
        partitions=2,
        settings={},
        drain_s=1.0,
        close_s=1.0,
        rate_per_s=rate_per_s if role == PRODUCE else 0.0,
        group="readers" if role == CONSUME else None,
    )


class Stand:
    """Traffic of a producer and two readers, started; and its events."""

    def __init__(self, where: Path, log: EventLog) -> None:
        self.where, self.clock, self._log = where, ManualClock(100 * NS_PER_S), log
        self.start()

    def start(self, *, rate_per_s: float = 100.0, trouble: Mapping[str, Trouble] | None = None) -> None:
        self.cluster = MemoryCluster(ClusterSpec(), trouble or {})
        workers = (worker(0, PRODUCE, rate_per_s=rate_per_s), worker(1, CONSUME), worker(2, CONSUME))
        self.traffic = Traffic(workers, self._log)
        self.traffic.start(self.cluster)

    def say(self, name: str, **said: Any) -> None:
        process = self.cluster.clients[name]
        process.__class__ = Scripted
        process.said = said  # type: ignore[attr-defined]

    def signals(self) -> list[list[str]]:
        """What each worker was sent; they were launched at once, in any order."""
        return [self.cluster.clients[each.name].signals for each in self.traffic.workers]

    def exits(self) -> dict[str, dict[str, Any]]:
        self.traffic.collect(self.where / "tapes")
        return {path.parent.name: json.loads(path.read_text()) for path in (self.where / "tapes").glob("*/exit.json")}

    def told(self, kind: str) -> list[Mapping[str, Any]]:
        return [event.fields for event in read_events(self.where / "events.jsonl") if event.event == kind]


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    with EventLog(tmp_path / "events.jsonl") as log:
        yield Stand(tmp_path, log)


def test_load_flows_once_every_producer_and_every_group_had_every_partition(stand: Stand) -> None:
    stand.say("produce-0", acked_per_partition={P0: 1, P1: 1})
    stand.say("consume-1", positions={P0: 1})
    stand.say("consume-2", positions={P1: 1})  # a group reads together
    stand.traffic.wait_flowing(within_s=1, clock=stand.clock)


@pytest.mark.parametrize(
    ("acked", "read", "missing"),
    [
        ({P0: 1}, {P0: 1, P1: 1}, f"no acknowledgement of {P1}"),
        ({P0: 1, P1: 0}, {P0: 1, P1: 1}, f"no acknowledgement of {P1}"),
        ({P0: 1, P1: 1}, {P0: 1}, f"nothing read of {P1}"),
        ("nonsense", {P0: 1, P1: 1}, f"no acknowledgement of {P0}"),
    ],
)
def test_load_that_does_not_flow_says_where(acked: object, read: object, missing: str, stand: Stand) -> None:
    stand.say("produce-0", acked_per_partition=acked)
    stand.say("consume-1", positions=read)
    stand.say("consume-2")
    with pytest.raises(WaitTimeout, match=missing):
        stand.traffic.wait_flowing(within_s=1, clock=stand.clock)


def test_before_load_flows_no_worker_may_end(stand: Stand) -> None:
    stand.cluster.clients["consume-2"].end = ExitStatus(code=70, signal=None)
    with pytest.raises(EnvironmentFailure, match=r"consume-2 ended: .*code=70"):
        stand.traffic.wait_flowing(within_s=1, clock=stand.clock)


def test_before_load_flows_no_worker_may_be_refused(stand: Stand) -> None:
    stand.say("consume-1", positions={}, refusal="TOPIC_AUTHORIZATION_FAILED")
    with pytest.raises(EnvironmentFailure, match="consume-1 was refused: TOPIC_AUTHORIZATION_FAILED"):
        stand.traffic.wait_flowing(within_s=1, clock=stand.clock)


@pytest.mark.parametrize(
    ("rate_per_s", "silent_s", "steady"),
    [
        (100.0, STEADY_S * 0.9, True),
        (100.0, STEADY_S * 1.1, False),
        (1.0, STEADY_MESSAGES * 2 * 0.9, True),  # two partitions share one message a second
        (1.0, STEADY_MESSAGES * 2 * 1.1, False),
    ],
)
def test_steady_is_measured_by_the_rate(rate_per_s: float, silent_s: float, steady: bool, stand: Stand) -> None:
    stand.start(rate_per_s=rate_per_s)
    stand.say("produce-0", last_ack_ns={P0: THEIR_NOW_NS, P1: THEIR_NOW_NS - int(silent_s * NS_PER_S)})
    assert (silent_s < stand.traffic.breath_s) == steady
    if steady:
        stand.traffic.wait_steady(within_s=0, clock=stand.clock)
    else:
        with pytest.raises(WaitTimeout, match=f"no acknowledgement of {P1}"):
            stand.traffic.wait_steady(within_s=0, clock=stand.clock)


def test_a_partition_that_was_never_acknowledged_is_not_steady(stand: Stand) -> None:
    stand.say("produce-0", last_ack_ns={P0: THEIR_NOW_NS, P1: None})
    with pytest.raises(WaitTimeout, match=P1):
        stand.traffic.wait_steady(within_s=0, clock=stand.clock)


def test_a_producer_that_says_nothing_new_is_not_steady(stand: Stand) -> None:
    stand.say("produce-0", at_ns=THEIR_NOW_NS, last_ack_ns={P0: THEIR_NOW_NS, P1: THEIR_NOW_NS})
    with pytest.raises(WaitTimeout, match="produce-0: no word of it"):
        stand.traffic.wait_steady(within_s=1, clock=stand.clock)


def test_who_stands_on_another_clock(stand: Stand) -> None:
    stand.say("produce-0", clock="CLOCK_MONOTONIC:ours")
    stand.say("consume-1", clock="CLOCK_MONOTONIC:theirs")
    stand.say("consume-2")  # a worker of another language need not name it here; its tape does
    assert stand.traffic.on_another_clock("CLOCK_MONOTONIC:ours") == ["consume-1"]


def test_a_word_gets_older_by_our_clock() -> None:
    heard = _Heard({"at_ns": 5})
    assert heard.brought_up_to({"at_ns": 5}, 100) is None
    assert heard.brought_up_to({}, 101) is None
    assert heard.brought_up_to({"at_ns": 9}, 102) == 9
    assert heard.brought_up_to({"at_ns": 9}, 105) == 12
    assert heard.brought_up_to({"at_ns": 20}, 106) == 20


def test_producers_end_first_and_readers_when_they_have_read_to_the_end(stand: Stand) -> None:
    stand.traffic.stop_producing(clock=stand.clock)
    assert stand.signals() == [["TERM"], [], []]
    stand.say("consume-1", positions={P0: 7})
    stand.say("consume-2", positions={P1: 9})
    ends = {TopicPartition("orders", 0): 7, TopicPartition("orders", 1): 10}
    with pytest.raises(WaitTimeout, match=f"group readers at 9 of 10 in {P1}"):
        stand.traffic.drain(ends, within_s=1, clock=stand.clock)
    stand.say("consume-2", positions={P1: 10})
    stand.traffic.drain(ends, within_s=1, clock=stand.clock)
    stand.traffic.stop()
    stand.traffic.stop()  # a second time changes nothing
    assert stand.signals() == [["TERM"], ["TERM"], ["TERM"]]
    told = [(e["worker"], e["state"], e.get("code")) for e in stand.told("worker")]
    assert [*sorted(told[:3]), *told[3:]] == [
        (0, "started", None), (1, "started", None), (2, "started", None),
        (0, "exited", 0), (1, "exited", 0), (2, "exited", 0),
    ]  # fmt: skip


def test_a_worker_that_hangs_is_killed_told_and_marked(stand: Stand) -> None:
    stand.cluster.clients["produce-0"].deaf = True
    stand.traffic.stop_producing(clock=stand.clock)
    assert stand.cluster.clients["produce-0"].signals == ["TERM", "KILL"]
    assert [error["where"] for error in stand.told("error")] == ["produce-0"]
    exits = stand.exits()
    assert exits["produce-0"] == {"code": None, "signal": 9, "out_of_memory": False, "killed_by_us": True}
    assert not exits["consume-1"]["killed_by_us"]


def test_only_an_end_that_nobody_asked_for_is_one(stand: Stand) -> None:
    stand.cluster.clients["consume-1"].end = ExitStatus(code=None, signal=11)
    assert stand.traffic.ended() == ["consume-1 ended: ExitStatus(code=None, signal=11, out_of_memory=False)"]
    stand.traffic.stop()
    assert stand.traffic.ended() == []
    assert not stand.exits()["consume-1"]["killed_by_us"]


def test_how_a_worker_ended_is_kept_even_if_its_files_cannot_be_had(stand: Stand) -> None:
    def refuse(cluster: MemoryCluster) -> None:
        if cluster.times("collect") == 1:
            raise WaitTimeout("no whole copy")

    stand.start(trouble={"collect": refuse})
    stand.traffic.stop()
    with pytest.raises(WaitTimeout, match="no whole copy"):
        stand.exits()
    assert len(list((stand.where / "tapes").glob("*/exit.json"))) == 3
    assert len(list((stand.where / "tapes").glob("*/stderr.log"))) == 2


def test_launches_that_fail_leave_the_others_to_be_stopped(tmp_path: Path) -> None:
    class Full(MemoryCluster):
        def launch(self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None) -> MemoryProcess:
            if name in ("produce-0", "consume-1"):
                raise EnvironmentFailure(f"no room for {name}")
            return super().launch(name, argv, env)

    cluster = Full(ClusterSpec(), {})
    with EventLog(tmp_path / "events.jsonl") as log:
        traffic = Traffic((worker(0, PRODUCE), worker(1, CONSUME), worker(2, CONSUME)), log)
        with pytest.raises(EnvironmentFailure, match="no room for produce-0") as failed:
            traffic.start(cluster)
        assert any("consume-1" in note for note in failed.value.__notes__)
        traffic.stop()
        traffic.collect(tmp_path / "tapes")
    assert {name: process.signals for name, process in cluster.clients.items()} == {"consume-2": ["TERM"]}
    assert [path.parent.name for path in (tmp_path / "tapes").glob("*/exit.json")] == ["consume-2"]
