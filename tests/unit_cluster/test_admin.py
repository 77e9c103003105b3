"""Where the replicas of a new topic go."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.cluster.admin import spread
from chaoskafka.cluster.spec import TopicSpec


def test_leadership_goes_round_and_partition_0_keeps_off_the_active_controller() -> None:
    spec = TopicSpec(partitions=4, replication_factor=2, min_insync_replicas=1)
    assert spread(spec, [1, 2, 3], 1) == [[2, 3], [3, 1], [1, 2], [2, 3]]
    assert spread(spec, [1, 2, 3], 101) == [[1, 2], [2, 3], [3, 1], [1, 2]]
    assert spread(spec, [1, 2, 3], None) == [[1, 2], [2, 3], [3, 1], [1, 2]]


@given(st.integers(2, 9), st.integers(1, 40), st.data())
def test_replicas_are_distinct_and_leaders_even(brokers: int, partitions: int, data: st.DataObject) -> None:
    factor = data.draw(st.integers(1, brokers))
    controller = data.draw(st.integers(1, brokers))
    spec = TopicSpec(partitions=partitions, replication_factor=factor, min_insync_replicas=1)
    placed = spread(spec, range(1, brokers + 1), controller)
    assert all(len(set(replicas)) == factor for replicas in placed)
    assert placed[0][0] != controller
    led = Counter(replicas[0] for replicas in placed)
    assert max(led.values()) - min(led.get(broker, 0) for broker in range(1, brokers + 1)) <= 1
