"""How late an open-loop schedule was: maximum and 99th percentile, in constant memory."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from chaoskafka.clock import NS_PER_MS
from chaoskafka.history.tape_layout import Integers

_FIRST_NS, _STEP, _BUCKETS = 10_000, 1.1, 180  # 0.01 ms, then 10 % wider each, up to 280 s: the error is below 10 %
_BOUNDS_NS = [int(_FIRST_NS * _STEP**i) for i in range(_BUCKETS)]
_BOUNDS = np.array(_BOUNDS_NS)


class Lag:
    """Collects lags in ns; answers in ms. A percentile is the upper bound of its bucket: never too small."""

    def __init__(self) -> None:
        self._counts = [0] * (_BUCKETS + 1)
        self._max_ns = 0

    def add(self, lag_ns: int) -> None:
        self._counts[bisect_left(_BOUNDS_NS, lag_ns)] += 1
        self._max_ns = max(self._max_ns, lag_ns)

    def add_all(self, lags_ns: Integers) -> None:
        """`add` of each; at least one."""
        low_ns, high_ns = int(lags_ns.min()), int(lags_ns.max())
        first, last = bisect_left(_BOUNDS_NS, low_ns), bisect_left(_BOUNDS_NS, high_ns)
        if first == last:  # so it is for most bursts, and saves most of the time
            self._counts[first] += len(lags_ns)
        else:
            for bucket, count in enumerate(np.bincount(np.searchsorted(_BOUNDS, lags_ns)).tolist()):
                self._counts[bucket] += count
        self._max_ns = max(self._max_ns, high_ns)

    @property
    def max_ms(self) -> float:
        return self._max_ns / NS_PER_MS

    @property
    def p99_ms(self) -> float:
        """0 when nothing was added."""
        total, seen = sum(self._counts), 0
        for bound_ns, count in zip([*_BOUNDS_NS, self._max_ns], self._counts, strict=True):
            seen += count
            if seen and seen >= total * 0.99:
                return min(bound_ns, self._max_ns) / NS_PER_MS
        return 0.0
