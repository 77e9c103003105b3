"""Attribution on altered histories: what a cause explains is marked, and one anomaly too many is not explained away.

That each rule explains what it is there for is shown by whole runs, in tests/runtimes/fake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from chaoskafka.attribution import RULES, causes
from chaoskafka.checks import Check
from chaoskafka.checks.new_leader import sights_of
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.read import History
from chaoskafka.scenario.catalogue import Kind, find, members
from chaoskafka.timing.failover import failover
from chaoskafka.verdict import Answer
from tests.histories import alterations as a
from tests.histories.builder import build
from tests.histories.copy import Copy
from tests.histories.shape import Shape
from tests.histories.words import PASSED_BY_A_FAILOVER

LIMITS = {"new_leader": {"within_s": 30.0}, "unavailable": {"at_most_s": 30.0}}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Nobody alters this one."""
    return Copy.at(build(tmp_path_factory.mktemp("base") / "run", Shape(partitions=2)))


def attributed(history: History, limits: Mapping[str, Mapping[str, float]] = LIMITS) -> dict[str, str | None]:
    checks: dict[str, Check] = {word: find(Kind.CHECK, word)(**limits.get(word, {})) for word in PASSED_BY_A_FAILOVER}
    failing = [(word, check) for word, check in checks.items() if check.check(history).answer is Answer.FAIL]
    return dict(zip((word for word, _ in failing), causes(history, failing), strict=True))


def corrupt_one(copy: Copy) -> None:
    """The record that a message was acknowledged at is broken, for readers too."""
    offset = pl.col("offset") == copy.acked()["offset"]
    nobody = {"state": PayloadState.TORN.value, "sent_topic": None, "sent_partition": None, "sequence": -1}
    copy.set("audit/record", offset, **nobody)
    copy.set("ops/read", offset, **nobody)


def lose_another(copy: Copy) -> None:
    copy.drop("audit/record", pl.col("offset") == copy.acked(0.25)["offset"])


def overwrite_one(copy: Copy) -> None:
    """The next message lies at its offset, and nothing at its own."""
    lost = copy.acked()
    following = copy.record(lost["offset"] + 1)
    at_lost = pl.col("offset") == lost["offset"]
    copy.drop("audit/record", pl.col("offset") == following["offset"])
    copy.set("audit/record", at_lost, sequence=following["sequence"], producer=following["producer"])
    copy.drop("ops/read", (pl.col("offset") == following["offset"]) | at_lost)


def read_no_more(copy: Copy) -> None:
    """From some time on the group was given nothing of one partition."""
    copy.drop("ops/read", pl.col("offset") > copy.acked(0.7)["offset"])


EXPLAINED: list[tuple[tuple[Callable[[Copy], None], ...], dict[str, str | None]]] = [
    ((corrupt_one,), {"no_unexpected": None, "no_lost_acknowledged": "no_unexpected"}),
    ((corrupt_one, lose_another), {"no_unexpected": None, "no_lost_acknowledged": None}),
    ((overwrite_one,), {"no_lost_acknowledged": None, "offsets_agree": "no_lost_acknowledged"}),
    ((lose_another, a.misname_an_acknowledgement), {"no_lost_acknowledged": None, "offsets_agree": None}),
    ((read_no_more,), {"progress": None, "all_delivered": "progress"}),
    ((read_no_more, a.skip_one), {"progress": None, "all_delivered": None}),
    ((read_no_more, a.hang_in_close), {"progress": None, "all_delivered": "progress", "clients_alive": None}),
]


@pytest.mark.parametrize(
    ("alter", "told"), EXPLAINED, ids=["+".join(f.__name__ for f in changes) for changes, _ in EXPLAINED]
)
def test_what_is_explained_and_what_is_not(
    alter: tuple[Callable[[Copy], None], ...], told: dict[str, str | None], base: Copy, tmp_path: Path
) -> None:
    copy = base.into(tmp_path / "run")
    for change in alter:
        change(copy)
    found = attributed(copy.history)
    assert {word: found.get(word, "it passed") for word in told} == told


def worst(history: History) -> tuple[float, float]:
    """The least that the longest gap took, and when at the latest the last new leader was known; seconds."""
    (fault,) = failover(history)
    gaps = [gap.length.lo_s for partition in fault.partitions for gap in partition.unavailable]
    return max(gaps), max(sight.seen.hi_s for sight in sights_of(history))


def test_a_late_leader_explains_a_gap_that_would_be_short_without_it(base: Copy) -> None:
    gap_s, named_s = worst(base.history)
    late = {"new_leader": {"within_s": 0.001}}
    short = late | {"unavailable": {"at_most_s": max(gap_s - named_s, 0.0) + 0.001}}
    assert attributed(base.history, short) == {"new_leader": None, "unavailable": "new_leader"}
    assert gap_s > named_s > 0.002
    too_short = late | {"unavailable": {"at_most_s": (gap_s - named_s) / 2}}
    assert attributed(base.history, too_short) == {"new_leader": None, "unavailable": None}
    in_time = {"new_leader": {"within_s": 30.0}, "unavailable": {"at_most_s": 0.001}}
    assert attributed(base.history, in_time) == {"unavailable": None}


def test_nothing_is_explained_by_a_check_that_did_not_fail(base: Copy, tmp_path: Path) -> None:
    copy = base.into(tmp_path / "run")
    corrupt_one(copy)
    lost = find(Kind.CHECK, "no_lost_acknowledged")()
    assert causes(copy.history, [("no_lost_acknowledged", lost)]) == [None]


def test_rules_name_checks_and_lead_nowhere_in_a_circle() -> None:
    words = set(members(Kind.CHECK))
    assert {word for rule in RULES for word in (rule.effect, rule.cause)} <= words
    edges = {(rule.effect, rule.cause) for rule in RULES}
    for effect, _ in edges:
        reached: set[str] = set()
        ahead = {effect}
        while ahead:
            ahead = {cause for of, cause in edges if of in ahead} - reached
            reached |= ahead
        assert effect not in reached
