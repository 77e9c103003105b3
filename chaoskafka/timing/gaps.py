"""The longest time without a success over a fault, of one client on one partition.

In: successes by hi_ns (see `successes`), a fault, and when the client was last heard of. Out: a Gap. Pure.
"""

from __future__ import annotations

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.events import FaultWindow
from chaoskafka.timing.spans import Stalls
from chaoskafka.timing.times import Gap, Interval


def longest_gap(client: str, successes: pl.DataFrame, fault: FaultWindow, last_heard_ns: int, stalls: Stalls) -> Gap:
    """The longest gap that touches the fault's window; one still open when the client was last heard of counts.

    A client without any success before the fault is taken to have begun with the fault.
    """
    assert fault.acted_ns is not None
    gaps = _gaps(successes, fault.acted_ns, last_heard_ns)
    healed_ns = fault.healed_ns if fault.healed_ns is not None else max(last_heard_ns, fault.acted_ns)
    over = gaps.filter((pl.col("end_hi_ns") > fault.acted_ns) & (pl.col("begin_hi_ns") <= healed_ns))
    if over.is_empty():
        # The client was last heard of before the fault: an empty gap at its start, open.
        over = gaps.tail(1)
    worst = over.sort(pl.col("end_hi_ns") - pl.col("begin_hi_ns")).row(-1, named=True)
    stalled_ns = stalls.within_ns(worst["begin_hi_ns"], worst["end_hi_ns"])
    certain_ns = max(0, worst["end_lo_ns"] - worst["begin_hi_ns"] - stalled_ns)
    possible_ns = max(0, worst["end_hi_ns"] - worst["begin_lo_ns"])
    return Gap(
        client=client,
        length=Interval(lo_s=certain_ns / NS_PER_S, hi_s=possible_ns / NS_PER_S),
        starts_s=(worst["begin_hi_ns"] - fault.acted_ns) / NS_PER_S,
        resolution_s=resolution_s(successes, fault.acted_ns),
        open=worst["open"],
    )


def resolution_s(successes: pl.DataFrame, acted_ns: int) -> float:
    """The client's usual distance between two successes before the fault: max(1/rate, p99 gap).

    The rate is the one that was reached on this partition. Without two successes before it: the whole time before.
    """
    instants = successes.filter(pl.col("hi_ns") <= acted_ns)["hi_ns"]
    between = instants.diff().drop_nulls()
    p99, mean = between.quantile(0.99), between.mean()
    if p99 is None or not isinstance(mean, float):
        return (acted_ns - int(instants[0])) / NS_PER_S if len(instants) else 0.0
    return max(mean, p99) / NS_PER_S


def _gaps(successes: pl.DataFrame, acted_ns: int, last_heard_ns: int) -> pl.DataFrame:
    """Every gap between neighbouring successes, and the last one up to `last_heard_ns`.

    Instants are uncertain, so each gap has an inner length (from the latest its begin can be to the earliest that any
    later success can be) and an outer one.
    """
    began = pl.DataFrame({"lo_ns": [acted_ns], "hi_ns": [acted_ns]})
    return (successes if successes.height else began).select(
        begin_hi_ns="hi_ns",
        begin_lo_ns=pl.col("lo_ns").cum_max(),
        end_hi_ns=pl.col("hi_ns").shift(-1).fill_null(pl.lit(last_heard_ns)),
        end_lo_ns=pl.col("lo_ns").cum_min(reverse=True).shift(-1).fill_null(pl.lit(last_heard_ns)),
        open=pl.col("hi_ns").shift(-1).is_null(),
    )
