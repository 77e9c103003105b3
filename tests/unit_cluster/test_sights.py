"""What several brokers' answers mean together."""

from __future__ import annotations

from chaoskafka.cluster.sights import (
    BrokerView,
    PartitionView,
    active_controller,
    disagreements,
    high_watermark,
    leadership,
)


def part(leader: int, epoch: int, isr: tuple[int, ...] = (1, 2)) -> PartitionView:
    return PartitionView(topic_id="t", leader=leader, leader_epoch=epoch, replicas=(1, 2), isr=isr)


def view(broker: int, *, applied: int = 10, **partitions: PartitionView) -> BrokerView:
    return BrokerView(
        broker=broker,
        reachable=True,
        applied_offset=applied,
        partitions={(name, 0): seen for name, seen in partitions.items()},
    )


DEAD = BrokerView(broker=9, reachable=False, error="refused", partitions={("a", 0): part(9, 99)})


def test_the_highest_epoch_wins_whoever_says_it() -> None:
    merged = leadership([view(1, applied=99, a=part(1, 4)), view(2, applied=1, a=part(2, 5)), DEAD])
    assert merged["a", 0].leader == 2


def test_within_an_epoch_the_broker_that_has_applied_more_wins() -> None:
    views = [view(1, applied=7, a=part(1, 4, (1,))), view(2, applied=8, a=part(1, 4, (1, 2)))]
    assert leadership(views)["a", 0].isr == (1, 2)
    assert leadership(views[::-1])["a", 0].isr == (1, 2)


def test_disagreement_names_who_and_what() -> None:
    views = [view(1, a=part(1, 4), b=part(1, 0)), view(2, a=part(2, 5)), DEAD]
    found = dict(disagreements(views))
    assert set(found) == {("a", 0), ("b", 0)}
    assert found["a", 0] == "a/0: broker 1 says leader 1 in epoch 4, others 2 in epoch 5"
    assert found["b", 0] == "broker 2 does not know b/0"
    assert disagreements([view(1, a=part(1, 4)), view(2, a=part(1, 4))]) == []


def test_the_controller_of_the_highest_epoch() -> None:
    said = [
        BrokerView(broker=1, reachable=True, controller=3, controller_epoch=4, metadata_high_watermark=100),
        BrokerView(broker=2, reachable=True, controller=1, controller_epoch=5, metadata_high_watermark=None),
        BrokerView(broker=3, reachable=False, controller=2, controller_epoch=6, metadata_high_watermark=900),
    ]
    assert active_controller(said) == 1
    assert high_watermark(said) == 100
    assert active_controller([said[2]]) is None
    assert high_watermark([]) is None


def test_full_isr_needs_a_leader_and_nobody_offline() -> None:
    assert part(1, 0).has_full_isr
    assert not part(1, 0, (1,)).has_full_isr
    assert not part(-1, 0).has_full_isr
    offline = PartitionView(topic_id="t", leader=1, leader_epoch=0, replicas=(1, 2), isr=(1, 2), offline=(2,))
    assert not offline.has_full_isr
