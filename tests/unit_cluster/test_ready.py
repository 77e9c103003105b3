"""Readiness by table: a whole cluster with one thing broken, and the text that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chaoskafka.clock import ManualClock
from chaoskafka.cluster.ready import formed, recovered, topics_ready, wait_formed, watch_recovery
from chaoskafka.cluster.sights import BrokerView, PartitionView
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.errors import WaitTimeout

SPEC = ClusterSpec(nodes=3)
MARK = 101  # offsets below it are committed
PART = PartitionView(topic_id="t", leader=1, leader_epoch=3, replicas=(1, 2, 3), isr=(3, 1, 2))
OTHER = replace(PART, leader=2)


def whole(broker: int) -> BrokerView:
    return BrokerView(
        broker=broker,
        reachable=True,
        applied_offset=100,
        metadata_high_watermark=MARK,
        controller=2,
        controller_epoch=5,
        fenced={1: False, 2: False, 3: False},
        partitions={("orders", 0): PART, ("__consumer_offsets", 0): OTHER},
    )


WHOLE = [whole(1), whole(2), whole(3)]


def broken(broker: int, **change: object) -> list[BrokerView]:
    return [replace(view, **change) if view.broker == broker else view for view in WHOLE]


def test_a_whole_cluster_is_formed_and_recovered() -> None:
    assert formed(WHOLE, SPEC, MARK).ready
    assert recovered(WHOLE, SPEC, MARK).ready
    assert str(recovered(WHOLE, SPEC, MARK)) == "all there"


@pytest.mark.parametrize(
    ("views", "mark", "says"),
    [
        (broken(2, reachable=False, error="refused"), MARK, "broker 2 does not answer: refused"),
        (WHOLE[:2], MARK, "broker 3 does not answer: not asked"),
        (broken(1, fenced={1: False, 2: False}), MARK, "broker 1 does not know broker 3"),
        (broken(3, fenced={1: False, 2: True, 3: False}), MARK, "broker 2 is fenced, says broker 3"),
        (broken(2, controller=None, error="no leader"), MARK, "broker 2 knows no active controller: no leader"),
        (broken(2, controller=1), MARK, "different controllers"),
        (broken(2, controller_epoch=4), MARK, "different controllers"),
        (broken(3, applied_offset=99), MARK, "broker 3 has applied metadata to 99, committed is 100"),
        (broken(3, applied_offset=None), MARK, "broker 3 has applied metadata to None"),
        (WHOLE, None, "how far metadata is committed is not known yet"),
    ],
)
def test_what_is_missing_to_be_formed(views: Sequence[BrokerView], mark: int | None, says: str) -> None:
    for judge in (formed, recovered):
        readiness = judge(views, SPEC, mark)
        assert not readiness.ready
        assert says in str(readiness)


@pytest.mark.parametrize(
    ("partition", "seen", "says"),
    [
        (("orders", 0), replace(PART, isr=(1, 2)), "orders/0: leader 1, isr [1, 2] of [1, 2, 3], says broker 2"),
        (("orders", 0), replace(PART, leader=-1), "orders/0: leader -1"),
        (("orders", 0), replace(PART, leader_epoch=2), "broker 2 says leader 1 in epoch 2, others 1 in epoch 3"),
        (("__consumer_offsets", 0), replace(OTHER, isr=(2,)), "__consumer_offsets/0: leader 2, isr [2]"),
        (("__consumer_offsets", 0), replace(OTHER, offline=(3,)), "__consumer_offsets/0: leader 2"),
    ],
)
def test_what_is_missing_to_be_recovered(partition: tuple[str, int], seen: PartitionView, says: str) -> None:
    views = broken(2, partitions={**WHOLE[1].partitions, partition: seen})
    assert formed(views, SPEC, MARK).ready
    assert says in str(recovered(views, SPEC, MARK))


def test_a_broker_that_does_not_know_an_internal_topic_has_not_recovered() -> None:
    views = broken(3, partitions={("orders", 0): PART})
    assert "broker 3 does not know __consumer_offsets/0" in str(recovered(views, SPEC, MARK))


@pytest.mark.parametrize(
    ("topic", "spec", "says"),
    [
        ("orders", TopicSpec(partitions=1), None),
        ("orders", TopicSpec(partitions=2), "orders/1 does not exist"),
        ("bills", TopicSpec(partitions=1), "bills/0 does not exist"),
        ("orders", TopicSpec(partitions=1, replication_factor=2), "orders/0: leader 1"),
    ],
)
def test_topics(topic: str, spec: TopicSpec, says: str | None) -> None:
    readiness = topics_ready(WHOLE, {topic: spec})
    assert readiness.ready == (says is None)
    assert (says or "") in str(readiness)


def test_long_lists_are_cut_and_counted() -> None:
    many = {("orders", number): replace(PART, isr=(1,)) for number in range(20)}
    readiness = recovered([replace(view, partitions=many) for view in WHOLE], SPEC, MARK)
    assert len(readiness.missing) == 60
    assert str(readiness).endswith("and 52 more")


class Told:
    """Brokers that answer what they are told to, round by round; the last round repeats."""

    def __init__(self, *rounds: list[BrokerView]) -> None:
        self.rounds = list(rounds)
        self.asked = 0

    def ask_all(self, topics: Sequence[str] | None = None) -> list[BrokerView]:
        assert topics is None
        self.asked += 1
        return self.rounds[min(self.asked, len(self.rounds)) - 1]


def test_formed_takes_two_rounds_since_the_mark_is_an_earlier_one() -> None:
    told = Told(WHOLE)
    assert wait_formed(told, SPEC, within_s=5, clock=ManualClock()).ready  # type: ignore[arg-type]
    assert told.asked == 2


def test_a_zombie_that_is_unfenced_but_behind_keeps_the_wait_going() -> None:
    behind = broken(3, applied_offset=50)
    told = Told(behind, behind, behind, WHOLE)
    assert wait_formed(told, SPEC, within_s=5, clock=ManualClock()).ready  # type: ignore[arg-type]
    assert told.asked == 4


def test_time_up_says_what_was_missing() -> None:
    told = Told(broken(1, reachable=False, error="refused"))
    with pytest.raises(WaitTimeout, match="broker 1 does not answer: refused"):
        wait_formed(told, SPEC, within_s=1, clock=ManualClock())  # type: ignore[arg-type]
    seen = watch_recovery(told, SPEC, within_s=1, clock=ManualClock())  # type: ignore[arg-type]
    assert not seen.ready
    assert "broker 1 does not answer: refused" in seen.missing
