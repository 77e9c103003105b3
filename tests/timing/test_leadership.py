from __future__ import annotations

from chaoskafka.timing.leadership import Change, Said, change_over, in_sync_again, sightings
from chaoskafka.timing.spans import Span
from tests.timing.windows import S, window


def said(*rows: tuple[float, int, int, int, int]) -> list[Said]:
    """(seconds, broker, leader, epoch, size of the ISR of three)"""
    answers = [
        Said(
            broker=broker,
            leader=leader,
            epoch=epoch,
            in_sync=isr == 3,
            lo_ns=int(at_s * S) - S // 100,
            hi_ns=int(at_s * S),
        )
        for at_s, broker, leader, epoch, isr in rows
    ]
    return sorted(answers, key=lambda answer: answer.hi_ns)


BEFORE = ((1, 1, 1, 5, 3), (1, 2, 1, 5, 3), (1, 3, 1, 5, 3))


def test_the_old_leader_is_the_newest_known_not_the_last_told() -> None:
    stale = said(*BEFORE, (2, 2, 3, 6, 3), (3, 3, 1, 5, 3))
    assert change_over(stale, window(10, 20), None) == Change(old_leader=3, old_epoch=6)


def test_a_moment_without_a_leader_is_not_a_new_leader() -> None:
    seen = said(*BEFORE, (12, 2, -1, 6, 1), (14, 2, 2, 7, 2))
    change = change_over(seen, window(10, 20), None)
    assert (change.new_leader, change.new_epoch) == (2, 7)


def test_a_new_epoch_of_the_same_leader_is_not_a_new_leader() -> None:
    seen = said(*BEFORE, (12, 2, 1, 6, 3))
    assert change_over(seen, window(10, 20), None).new_leader is None


def test_the_first_of_several_changes_is_the_failover() -> None:
    seen = said(*BEFORE, (12, 2, 2, 6, 2), (30, 2, 1, 7, 3), (30, 3, 1, 7, 3))
    assert change_over(seen, window(10, 20), None).new_epoch == 6


def test_the_next_faults_changes_are_not_this_ones() -> None:
    seen = said(*BEFORE, (42, 2, 2, 6, 2))
    assert change_over(seen, window(10, 20), 40 * S).new_leader is None


def test_nothing_is_known_of_a_partition_nobody_spoke_of() -> None:
    assert change_over(said(), window(10, 20), None) == Change(old_leader=None, old_epoch=None)


def test_a_broker_that_only_named_a_later_leader_has_seen_it_then() -> None:
    seen = said(*BEFORE, (12, 2, 2, 6, 2), (30, 3, 1, 7, 3))
    change = change_over(seen, window(10, 20), None)
    assert sightings(seen, change, [2, 3]) == {
        2: Span(12 * S - S // 100, 12 * S),
        3: Span(30 * S - S // 100, 30 * S),
    }


def test_in_sync_again_is_told_only_after_a_smaller_isr() -> None:
    live = [2, 3]
    assert in_sync_again(said(*BEFORE, (12, 2, 2, 6, 3)), window(10, 20), None, live) is None
    seen = said(*BEFORE, (12, 2, 2, 6, 2), (13, 3, 2, 6, 2), (22, 1, 2, 6, 3), (24, 3, 2, 6, 3), (25, 2, 2, 6, 3))
    assert in_sync_again(seen, window(10, 20), None, live) == Span(24 * S - S // 100, 24 * S)
