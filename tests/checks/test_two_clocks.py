"""The engine on another machine than the harness: what compares instants of both is unknown, never right or wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from chaoskafka.history.doubt import Reason
from chaoskafka.judge import judged
from chaoskafka.timing.failover import failover
from chaoskafka.verdict import Answer
from tests.histories import alterations as a
from tests.histories.copy import Copy, Row

RECORDED = Path(__file__).parent.parent / "histories" / "base"
ANOTHER_BOOT_NS = 10**15  # between the clocks of two machines lies whatever lay between their boots

# Checks of what was told and counted, of the engine's own account, or of the harness's clock alone.
STAND_ON_ONE_CLOCK = {"accounted", "clients_alive", "took_effect", "recovered", "completed"}


def command_from_elsewhere(copy: Copy, shift_ns: int) -> None:
    """The harness's own instants are of its own machine's clock."""

    def shifted(row: Row) -> Row:
        return row | {key: at + shift_ns for key, at in row.items() if key.endswith("_ns") and at is not None}

    copy.header(clock="CLOCK_MONOTONIC:boot-of-the-harness")
    copy.lines("events.jsonl", shifted)


def answers(copy: Copy) -> dict[str, Answer]:
    return {check.word: check.answer for check in judged(copy.history).checks}


@pytest.fixture(params=[ANOTHER_BOOT_NS, -ANOTHER_BOOT_NS], ids=["booted earlier", "booted later"])
def elsewhere(request: pytest.FixtureRequest) -> Callable[[Copy], None]:
    return lambda copy: command_from_elsewhere(copy, request.param)


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy.at(RECORDED).into(tmp_path / "run")


def test_what_needs_both_clocks_is_unknown(copy: Copy, elsewhere: Callable[[Copy], None]) -> None:
    assert set(answers(copy).values()) == {Answer.PASS}
    elsewhere(copy)
    for check in judged(copy.history).checks:
        expected = Answer.PASS if check.word in STAND_ON_ONE_CLOCK else Answer.UNKNOWN
        assert check.answer is expected, check
        if expected is Answer.UNKNOWN:
            assert Reason.TWO_CLOCKS in check.summary, check


def test_no_time_is_told(copy: Copy, elsewhere: Callable[[Copy], None]) -> None:
    elsewhere(copy)
    for fault in failover(copy.history):
        for partition in fault.partitions:
            assert (partition.seen_by, partition.first_ack, partition.first_read) == ((), (), ())
            assert (partition.unavailable, partition.in_sync, partition.new_leader) == ((), None, None)
            assert "another clock" in (partition.note or "")


def test_what_is_lost_is_lost_on_every_clock(copy: Copy, elsewhere: Callable[[Copy], None]) -> None:
    a.lose_one(copy)
    elsewhere(copy)
    assert answers(copy)["no_lost_acknowledged"] is Answer.FAIL


def test_a_stall_on_another_clock_may_be_what_made_it_late(copy: Copy, elsewhere: Callable[[Copy], None]) -> None:
    a.recover_late_on_a_starved_machine(copy)
    elsewhere(copy)
    assert answers(copy)["recovered"] is Answer.UNKNOWN
    a.recover_late(copy)  # by more than all stalls together
    assert answers(copy)["recovered"] is Answer.FAIL
