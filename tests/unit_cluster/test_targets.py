"""The grammar of targets: what is taken, and what is said about what is not."""

from __future__ import annotations

import re

import pytest

from chaoskafka.cluster.targets import Kind, Phrase, Target


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("leader of orders/0", (Phrase(Kind.LEADER, partition=("orders", 0)),)),
        ("follower of a.b_c-d/12", (Phrase(Kind.FOLLOWER, partition=("a.b_c-d", 12)),)),
        ("active controller", (Phrase(Kind.CONTROLLER),)),
        ("broker 2", (Phrase(Kind.BROKER, number=2),)),
        ("node 101", (Phrase(Kind.NODE, number=101),)),
        ("any", (Phrase(Kind.ANY),)),
        ("majority", (Phrase(Kind.MAJORITY),)),
        ("all", (Phrase(Kind.ALL),)),
        ("last in-sync replica of orders/0", (Phrase(Kind.LAST_IN_SYNC, partition=("orders", 0)),)),
        ("transaction coordinator of tx 1", (Phrase(Kind.TRANSACTIONS, transaction="tx 1"),)),
        ("group coordinator of my readers", (Phrase(Kind.COORDINATOR, group="my readers"),)),
        (
            "leader of orders/0, not active controller",
            (Phrase(Kind.LEADER, partition=("orders", 0)), Phrase(Kind.CONTROLLER, negated=True)),
        ),
        (
            "  any ,not  leader of orders/1,  active controller ",
            (Phrase(Kind.ANY), Phrase(Kind.LEADER, partition=("orders", 1), negated=True), Phrase(Kind.CONTROLLER)),
        ),
    ],
)
def test_targets_are_taken(text: str, phrases: tuple[Phrase, ...]) -> None:
    target = Target.parse(text)
    assert target.phrases == phrases
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no target"),
        ("leadr of orders/0", "did you mean 'leader of'?"),
        ("active controler", "did you mean 'active controller'?"),
        ("frobnicate", "leader of TOPIC/P, follower of TOPIC/P"),
        ("leader of orders", "expected 'leader of TOPIC/PARTITION'"),
        ("leader of orders/-1", "expected 'leader of TOPIC/PARTITION'"),
        ("leader of ord ers/1", "expected 'leader of TOPIC/PARTITION'"),
        ("leader oforders/1", "is no target"),
        ("broker two", "expected 'broker N'"),
        ("broker", "expected 'broker N'"),
        ("last in-sync replica of orders", "expected 'last in-sync replica of TOPIC/PARTITION'"),
        ("transaction coordinator of", "expected 'transaction coordinator of TRANSACTIONAL.ID'"),
        ("group coordinator of", "expected 'group coordinator of GROUP'"),
        ("any broker", "nothing may follow 'any'"),
        ("not broker 1", "say first who"),
        ("broker 1, all", "cannot be a filter"),
        ("broker 1,", "is no target"),
    ],
)
def test_what_is_no_target_says_what_is(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        Target.parse(text)


def test_a_target_made_by_hand_is_checked_too() -> None:
    with pytest.raises(ValueError, match="no target"):
        Target("somebody")


def test_what_a_target_mentions() -> None:
    target = Target.parse("leader of orders/0, not follower of bills/3, not group coordinator of readers, not node 101")
    assert target.partitions == (("orders", 0), ("bills", 3))
    assert target.groups == ("readers",)
    assert target.node_ids == (101,)
