"""The lag's percentile."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.workloads.worker.lag import Lag


@given(lags_ns=st.lists(st.integers(0, 600_000_000_000), min_size=1, max_size=300))
def test_the_percentile_is_never_too_small_and_at_most_a_tenth_too_large(
    lags_ns: list[int],
) -> None:
    lag = Lag()
    for value in lags_ns:
        lag.add(value)
    at_once = Lag()
    at_once.add_all(np.array(lags_ns))
    assert (at_once.max_ms, at_once.p99_ms) == (lag.max_ms, lag.p99_ms)
    ordered = sorted(lags_ns)
    true_ms = ordered[-(-len(ordered) * 99 // 100) - 1] / 1e6
    assert lag.max_ms == ordered[-1] / 1e6
    assert true_ms <= lag.p99_ms <= max(true_ms * 1.1 + 0.011, lag.max_ms if true_ms > 250_000 else 0)


def test_nothing_added() -> None:
    assert (Lag().max_ms, Lag().p99_ms) == (0.0, 0.0)
