"""Conditions: how they are written, how long they are waited for, and when brokers' answers make them hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaoskafka.cluster.conditions import MEANINGS, Condition, Word
from chaoskafka.cluster.holding import Scene, missing
from chaoskafka.cluster.sights import BrokerView, PartitionView, leadership
from chaoskafka.cluster.spec import ClusterSpec

ONE, TWO, OFFSETS = ("orders", 0), ("orders", 1), ("__consumer_offsets", 0)
SPEC = ClusterSpec(nodes=3)


@pytest.mark.parametrize(
    "written",
    [
        "fenced",
        {"fenced": 2},
        {"leader_changed": "orders/0", "within_s": 20},
        {"isr_full": "orders"},
        {"isr_is": 1, "of": "orders/3"},
        {"isr_is": 0},
        "quorum_caught_up",
        {"recovered": None, "within_s": 1.5},
    ],
)
def test_what_is_written_comes_back(written: object) -> None:
    condition = Condition.parse(written)
    assert condition.facts == ({written: None} if isinstance(written, str) else written)
    assert Condition.parse(condition.facts) == condition


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("fnced", "'fnced' is no condition; did you mean 'fenced'?; allowed: fenced, leader_changed"),
        (5, "expected a condition, got 5"),
        (None, "expected a condition, got None"),
        ({}, "expected one condition"),
        ({"fenced": None, "recovered": None}, "expected one condition"),
        ({"within_s": 5}, "expected one condition"),
        ({"fenced": "x"}, "fenced: expected a broker's number or nothing"),
        ({"fenced": True}, "fenced: expected a broker's number or nothing"),
        ({"isr_is": None}, "isr_is: expected a whole number from 0 on"),
        ({"isr_is": -1}, "isr_is: expected a whole number from 0 on"),
        ({"isr_is": 1, "of": "orders"}, "of: expected TOPIC/PARTITION"),
        ({"leader_changed": 5}, "leader_changed: expected TOPIC/PARTITION"),
        ({"isr_full": 5}, "isr_full: expected a topic or nothing"),
        ({"recovered": 1}, "recovered: it takes no value"),
        ({"fenced": None, "of": "orders/0"}, "of: fenced takes none; only isr_is does"),
        ({"fenced": None, "within_s": 0}, "within_s: expected a number above 0"),
        ({"fenced": None, "within_s": "5"}, "within_s: expected a number above 0"),
    ],
)
def test_what_is_none_is_refused(written: object, problem: str) -> None:
    with pytest.raises(ValueError) as told:  # noqa: PT011 - the text is what is compared
        Condition.parse(written)
    assert str(told.value).startswith(problem)


def test_every_word_is_explained() -> None:
    assert set(MEANINGS) == set(Word)


@pytest.mark.parametrize(
    ("written", "limit_s"),
    [
        ("fenced", 6 + 9 * 9 / 8 + 5),
        ("leader_changed", 6 + 9 * 9 / 8 + 5),
        ({"isr_is": 1}, 30 * 1.5 + 5),
        ("isr_full", 77),
        ("recovered", 77),
        ({"recovered": None, "within_s": 3}, 3),
    ],
)
def test_deadlines_come_from_the_settings_in_force(written: object, limit_s: float) -> None:
    settings = {"broker.session.timeout.ms": "9000", "replica.lag.time.max.ms": "30000"}
    assert Condition.parse(written).deadline_s(settings, 77) == pytest.approx(limit_s)
    assert Condition.parse(written).deadline_s({}, 77) == pytest.approx(limit_s)


def part(leader: int, epoch: int = 5, isr: tuple[int, ...] = (1, 2, 3)) -> PartitionView:
    return PartitionView(topic_id="x", leader=leader, leader_epoch=epoch, replicas=(1, 2, 3), isr=isr)


WHOLE = {ONE: part(1), TWO: part(2), OFFSETS: part(3)}


def view(broker: int, **fields: object) -> BrokerView:
    plain: dict[str, object] = {
        "reachable": True,
        "applied_offset": 99,
        "metadata_high_watermark": 100,
        "controller": 3,
        "controller_epoch": 1,
        "voters": {1: 100, 2: 100, 3: 100},
        "fenced": {1: False, 2: False, 3: False},
        "partitions": WHOLE,
        "internal": frozenset({"__consumer_offsets"}),
    }
    return BrokerView(broker=broker, **{**plain, **fields})  # type: ignore[arg-type]


def all_three(**fields: object) -> list[BrokerView]:
    return [view(broker, **fields) for broker in (1, 2, 3)]


BEFORE = all_three()
MOVED = {**WHOLE, ONE: part(2, 6, (2, 3))}
FENCED = {1: True, 2: False, 3: False}


def lacks(written: object, now: list[BrokerView], targets: set[int] | None = None, mark: int | None = 100) -> str:
    scene = Scene(
        spec=SPEC,
        before=leadership(BEFORE),
        internal=frozenset({"__consumer_offsets"}),
        targets=None if targets is None else frozenset(targets),
    )
    return "; ".join(missing(Condition.parse(written), now, scene, mark))


def test_fenced() -> None:
    fenced = [view(1), view(2, fenced=FENCED), view(3, fenced=FENCED)]
    assert lacks("fenced", fenced, {1}) == "", "what it says of itself is not asked"
    assert lacks("fenced", [view(2, fenced=FENCED), view(3)], {1}) == "broker 3 does not call broker 1 fenced"
    assert lacks("fenced", BEFORE, {1}).startswith("broker 2 does not")
    assert lacks("fenced", fenced) == ""
    assert lacks("fenced", BEFORE) == "no broker is fenced"
    assert lacks({"fenced": 1}, fenced) == ""
    assert lacks({"fenced": 2}, fenced, {1}).startswith("broker 3 does not call broker 2 fenced")
    assert lacks("fenced", fenced, set()) == "no broker was hit"


def test_leader_changed() -> None:
    moved = [view(2, partitions=MOVED), view(3, partitions=MOVED)]
    assert lacks("leader_changed", [view(1), *moved], {1}) == ""
    assert lacks("leader_changed", [moved[0], view(3)], {1}) == "orders/0: broker 3 names 1 in epoch 5"
    nobody = {**WHOLE, ONE: part(-1, 6)}
    assert lacks("leader_changed", [view(2, partitions=nobody)], {1}) == "orders/0: broker 2 names -1 in epoch 6"
    again = {**WHOLE, ONE: part(1, 7)}
    assert "names 1 in epoch 7" in lacks({"leader_changed": "orders/0"}, all_three(partitions=again))
    assert lacks({"leader_changed": "orders/0"}, all_three(partitions=MOVED)) == ""
    assert lacks({"leader_changed": "orders/9"}, BEFORE).startswith("orders/9 is not known")
    assert lacks("leader_changed", BEFORE, {101}) == "the nodes that were hit led nothing"
    assert lacks("leader_changed", BEFORE) == "it takes a partition"


def test_isr() -> None:
    small = all_three(partitions={**WHOLE, OFFSETS: part(3, 5, (3,))})
    assert lacks("isr_full", BEFORE) == ""
    assert lacks("isr_full", small).startswith("__consumer_offsets/0: isr [3] of [1, 2, 3], says broker 1")
    assert lacks({"isr_full": "orders"}, small) == ""
    assert lacks({"isr_is": 1}, small) == "orders/0 has 3 in sync, orders/1 has 3 in sync"
    assert lacks({"isr_is": 2}, all_three(partitions=MOVED)) == ""
    assert lacks({"isr_is": 2, "of": "orders/1"}, all_three(partitions=MOVED)) == "orders/1 has 3 in sync"
    assert lacks({"isr_is": 2, "of": "orders/0"}, all_three(partitions=MOVED)) == ""
    assert lacks({"isr_is": 2, "of": "orders/9"}, BEFORE) == "no partition is known"


def test_quorum_caught_up() -> None:
    assert lacks("quorum_caught_up", BEFORE) == ""
    behind = all_three(voters={1: 100, 2: 99, 3: 100})
    assert lacks("quorum_caught_up", behind) == "controller 2 has metadata to 99, committed is 100"
    assert lacks("quorum_caught_up", all_three(voters={1: 100, 3: 100})).startswith("controller 2 has metadata to None")
    newer = [replace(view(1), controller_epoch=2, voters={1: 100, 2: 1, 3: 1}), view(2)]
    assert lacks("quorum_caught_up", newer).startswith("controller 2 has metadata to 1")
    for unknown in (lacks("quorum_caught_up", BEFORE, mark=None), lacks("quorum_caught_up", all_three(voters={}))):
        assert unknown == "no active controller has told how far the quorum is"


def test_recovered() -> None:
    assert lacks("recovered", BEFORE) == ""
    assert "isr [2, 3] of [1, 2, 3]" in lacks("recovered", all_three(partitions=MOVED))
    assert "not known yet" in lacks("recovered", BEFORE, mark=None)


@pytest.mark.parametrize("word", ["fenced", "recovered", {"isr_is": 1}, "quorum_caught_up"])
def test_where_nobody_answers_nothing_holds(word: object) -> None:
    silent = [BrokerView(broker=broker, reachable=False) for broker in (1, 2, 3)]
    assert lacks(word, silent, {1}) == "no broker answers"
    assert lacks(word, [view(1)], {1}) == "no broker answers", "of those that were hit nobody is asked"
