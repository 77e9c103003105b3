"""The longest time without a success over a fault, of one client on one partition.

In: successes by hi_ns (see `successes`), a fault, and when the client was last heard of. Out: a Gap. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.events import FaultWindow
from chaoskafka.timing.spans import Stalls, deed_of
from chaoskafka.timing.times import Gap, Interval

Instants = npt.NDArray[np.int64]


def longest_gap(client: str, successes: pl.DataFrame, fault: FaultWindow, last_heard_ns: int, stalls: Stalls) -> Gap:
    """The longest gap that touches the fault's window; one still open when the client was last heard of counts.

    A client without any success before the fault is taken to have begun with the fault.
    """
    assert fault.acted_ns is not None
    deed = deed_of(fault)
    lo_ns, hi_ns = (successes[name].to_numpy() for name in ("lo_ns", "hi_ns"))
    if not len(hi_ns):
        lo_ns, hi_ns = np.array([deed.lo_ns]), np.array([deed.hi_ns])
    gaps = _gaps(lo_ns, hi_ns, last_heard_ns)
    healed_ns = fault.healed_ns if fault.healed_ns is not None else max(last_heard_ns, fault.acted_ns)
    (over,) = np.nonzero((gaps.end_hi_ns > deed.lo_ns) & (gaps.begin_hi_ns <= healed_ns))
    if not len(over):
        # The client was last heard of before the fault: an empty gap at its start, open.
        over = np.array([len(hi_ns) - 1])
    worst = over[np.argmax((gaps.end_hi_ns - gaps.begin_hi_ns)[over])]
    begin_lo_ns, begin_hi_ns, end_lo_ns, end_hi_ns = (int(ends_ns[worst]) for ends_ns in gaps)
    stalled_ns = stalls.within_ns(begin_hi_ns, end_hi_ns)
    return Gap(
        client=client,
        length=Interval(
            lo_s=max(0, end_lo_ns - begin_hi_ns - stalled_ns) / NS_PER_S,
            hi_s=max(0, end_hi_ns - begin_lo_ns) / NS_PER_S,
        ),
        starts_s=(begin_hi_ns - fault.acted_ns) / NS_PER_S,
        resolution_s=resolution_s(successes, fault.acted_ns),
        open=bool(worst == len(hi_ns) - 1),
    )


def resolution_s(successes: pl.DataFrame, acted_ns: int) -> float:
    """The client's usual distance between two successes before the fault: max(1/rate, p99 gap).

    The rate is the one that was reached on this partition. Without two successes before it: the whole time before.
    """
    instants_ns = successes["hi_ns"].to_numpy()
    before_ns = instants_ns[instants_ns <= acted_ns]
    if not len(before_ns):
        return 0.0
    between_ns = np.diff(before_ns)
    if not len(between_ns):
        return (acted_ns - int(before_ns[0])) / NS_PER_S
    return max(float(between_ns.mean()), float(np.quantile(between_ns, 0.99, method="nearest"))) / NS_PER_S


class _Gaps(NamedTuple):
    """Instants in ns of each gap, the last one open."""

    begin_lo_ns: Instants
    begin_hi_ns: Instants
    end_lo_ns: Instants
    end_hi_ns: Instants


def _gaps(lo_ns: Instants, hi_ns: Instants, last_heard_ns: int) -> _Gaps:
    """Every gap between neighbouring successes, and the last one up to `last_heard_ns`.

    Instants are uncertain, so each gap has an inner length (from the latest its begin can be to the earliest that any
    later success can be) and an outer one.
    """
    earliest_later_ns = np.minimum.accumulate(lo_ns[::-1])[::-1]
    return _Gaps(
        begin_lo_ns=np.maximum.accumulate(lo_ns),
        begin_hi_ns=hi_ns,
        end_lo_ns=np.append(earliest_later_ns[1:], last_heard_ns),
        end_hi_ns=np.append(hi_ns[1:], last_heard_ns),
    )
