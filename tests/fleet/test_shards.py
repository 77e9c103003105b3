"""Shares: every run in just one of them, the same wherever they are computed, none much longer than another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.fleet.shards import Shard, share

TIMES = st.dictionaries(st.text(min_size=1, max_size=4), st.floats(1, 600), max_size=40)


def shares(times: dict[str, float], of: int) -> list[frozenset[str]]:
    return [share(times, Shard(number, of)) for number in range(1, of + 1)]


@given(times=TIMES, of=st.integers(1, 6))
def test_every_run_is_in_just_one_share(times: dict[str, float], of: int) -> None:
    assert sorted(key for keys in shares(times, of) for key in keys) == sorted(times)


@given(times=TIMES, of=st.integers(1, 6))
def test_the_order_of_the_call_changes_nothing(times: dict[str, float], of: int) -> None:
    assert shares(dict(reversed(times.items())), of) == shares(times, of)


@given(times=TIMES, of=st.integers(1, 6))
def test_no_share_has_more_than_another_but_for_one_run(times: dict[str, float], of: int) -> None:
    loads = [[times[key] for key in keys] for keys in shares(times, of)]
    for mine in loads:
        assert sum(mine) - (min(mine) if mine else 0.0) <= min(map(sum, loads)) + 1e-6


def test_two_long_ones_do_not_meet_in_one_share() -> None:
    assert shares({"a": 100, "b": 90, "c": 10, "d": 5}, 2) == [{"a", "d"}, {"b", "c"}]


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "1.0/2", "1/2000", "1 / 2"])
def test_what_is_no_share_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(ValueError, match="write 1/3 to 3/3"):
        Shard.parse(text)


def test_a_share_as_it_is_written() -> None:
    assert str(Shard.parse("2/3")) == "2/3"
