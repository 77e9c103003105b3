"""The figures of a real run hang together, whichever run is the base."""

from __future__ import annotations

from chaoskafka.history.read import open_history
from chaoskafka.timing.failover import failover
from chaoskafka.timing.leadership import live_brokers
from tests.histories.record import BASE


def test_a_real_failover_happens_in_its_order() -> None:
    history = open_history(BASE)
    (fault,) = failover(history)
    assert fault.window_s is not None
    hit = next(partition for partition in fault.partitions if partition.old_leader in fault.targets)
    assert hit.new_leader not in (None, *fault.targets)
    assert [sight.broker for sight in hit.seen_by] == live_brokers(history, history.faults[0])
    elected_s = min(sight.seen.lo_s for sight in hit.seen_by)
    assert hit.first_ack
    assert hit.first_read
    for client in (*hit.first_ack, *hit.first_read):
        # A client may be served by the new leader before the observer's next poll hears of it, not before the change.
        assert elected_s <= client.first.hi_s < fault.window_s
    for gap in hit.unavailable:
        assert gap.length.lo_s > elected_s - gap.resolution_s
        assert gap.length.hi_s < fault.window_s
        assert not gap.open
    assert hit.in_sync is not None
    assert hit.in_sync.hi_s > elected_s
    assert hit.note is None


def test_a_spared_partition_has_the_same_leader_and_was_served() -> None:
    (fault,) = failover(open_history(BASE))
    spared = next(partition for partition in fault.partitions if partition.old_leader not in fault.targets)
    assert (spared.new_leader, spared.new_epoch, spared.seen_by) == (None, None, ())
    assert spared.unavailable
    assert not any(gap.open for gap in spared.unavailable)
