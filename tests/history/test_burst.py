"""Payloads made at once are those made one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.history.burst import BurstEncoder
from chaoskafka.history.identity import HEAD_BYTES, Encoder, place_of
from tests.properties import examples

places = st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)), min_size=1, max_size=20)
u64 = st.integers(0, 2**64 - 1)


@given(places=places, run=u64, who=st.tuples(*[st.integers(0, 2**16 - 1)] * 2), more_bytes=st.integers(0, 300))
@examples(60)
def test_the_same_bytes_and_back(
    places: list[tuple[int, int]], run: int, who: tuple[int, int], more_bytes: int
) -> None:
    common = {"producer": who[0], "incarnation": who[1], "topic": 7, "size_bytes": HEAD_BYTES + more_bytes}
    burst = BurstEncoder(run, **common, most=20)
    for some in (places, places[::-1][:3]):  # what the burst before left behind must not show
        partitions, sequences = np.array(some, dtype=np.int64).T
        payloads = burst.encode(partitions, sequences)
        assert payloads == [Encoder(run, **common).encode(*place) for place in some]
        found = burst.places(payloads)
        assert list(zip(*(column.tolist() for column in found), strict=True)) == some
        assert [place_of(payload) for payload in payloads] == some
