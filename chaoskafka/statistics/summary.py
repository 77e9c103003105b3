"""Figures of many samples: spread, and how sure one may be of a median, of a difference and of a ratio.

In: seconds. Out: figures. Pure: the same samples give the same figures, since the draws of the bootstrap have a fixed
seed. Intervals are percentile bootstrap intervals (Efron, "Bootstrap Methods: Another Look at the Jackknife", 1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
CONFIDENCE = 0.95
COUNT_MIN = 5  # of fewer, an interval would be the samples themselves and no statement about others
_SEED = 20260101
_AT_ONCE = 1_000_000  # numbers drawn: 8 MiB, however many samples there are

Span = tuple[float, float]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Seconds. `sure`: the interval of the median; None: too few samples for one."""

    count: int
    min_s: float
    median_s: float
    p90_s: float
    max_s: float
    sure: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Medians of b against those of a. Intervals are None where either has too few samples; a ratio to 0 is None."""

    seconds: float
    seconds_sure: Span | None
    ratio: float | None
    ratio_sure: Span | None


def summarise(values_s: Sequence[float]) -> Summary:
    """Of at least one sample."""
    values = np.asarray(values_s, dtype=np.float64)
    return Summary(
        count=len(values),
        min_s=float(values.min()),
        median_s=float(np.median(values)),
        p90_s=float(np.percentile(values, 90)),
        max_s=float(values.max()),
        sure=_span(_medians(values, _SEED)) if len(values) >= COUNT_MIN else None,
    )


def median_s(values_s: Sequence[float]) -> float:
    """Of at least one sample, where nobody asks how sure it is."""
    return float(np.median(np.asarray(values_s, dtype=np.float64)))


def difference(a_s: Sequence[float], b_s: Sequence[float]) -> Difference:
    """Of at least one sample each."""
    a, b = np.asarray(a_s, dtype=np.float64), np.asarray(b_s, dtype=np.float64)
    of_a, of_b = float(np.median(a)), float(np.median(b))
    seconds_sure, ratio_sure = None, None
    if min(len(a), len(b)) >= COUNT_MIN:
        many_a, many_b = _medians(a, _SEED), _medians(b, _SEED + 1)
        seconds_sure = _span(many_b - many_a)
        ratio_sure = _span(many_b / many_a) if float(many_a.min()) > 0 else None
    return Difference(
        seconds=of_b - of_a,
        seconds_sure=seconds_sure,
        ratio=of_b / of_a if of_a > 0 else None,
        ratio_sure=ratio_sure,
    )


def _medians(values: _Floats, seed: int) -> _Floats:
    """Medians of samples drawn from the samples."""
    rng = np.random.default_rng(seed)
    found = np.empty(RESAMPLES)
    rows = max(1, _AT_ONCE // len(values))
    for first in range(0, RESAMPLES, rows):
        part = found[first : first + rows]
        part[:] = np.median(rng.choice(values, (len(part), len(values))), axis=1)
    return found


def _span(medians: _Floats) -> Span:
    rest = 100 * (1 - CONFIDENCE) / 2
    lo, hi = np.percentile(medians, [rest, 100 - rest])
    return float(lo), float(hi)
