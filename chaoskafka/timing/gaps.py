"""The longest time without a success over a fault, of one client on one partition.

In: successes by hi_ns (see `successes`), a fault, and when the client was last heard of. Out: a Gap. Pure.
"""

from __future__ import annotations

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.events import FaultWindow
from chaoskafka.timing.spans import Stalls, deed_of
from chaoskafka.timing.times import Gap, Interval


def longest_gap(client: str, successes: pl.DataFrame, fault: FaultWindow, last_heard_ns: int, stalls: Stalls) -> Gap:
    """The longest gap that touches the fault's window; one still open when the client was last heard of counts.

    A client without any success before the fault is taken to have begun with the fault.
    """
    assert fault.acted_ns is not None
    deed = deed_of(fault)
    usual_s = resolution_s(successes, fault.acted_ns)
    if successes.is_empty():
        successes = pl.DataFrame({"lo_ns": [deed.lo_ns], "hi_ns": [deed.hi_ns]})
    gaps = _gaps(successes, last_heard_ns)
    healed_ns = fault.healed_ns if fault.healed_ns is not None else max(last_heard_ns, fault.acted_ns)
    over = gaps.filter((pl.col("end_hi_ns") > deed.lo_ns) & (pl.col("begin_hi_ns") <= healed_ns))
    if over.is_empty():
        # The client was last heard of before the fault: an empty gap at its start, open.
        over = gaps.tail(1)
    worst = (over["end_hi_ns"] - over["begin_hi_ns"]).arg_max() or 0
    begin_lo_ns, begin_hi_ns, end_lo_ns, end_hi_ns, is_last = over.row(worst)
    stalled_ns = stalls.within_ns(begin_hi_ns, end_hi_ns)
    return Gap(
        client=client,
        length=Interval(
            lo_s=max(0, end_lo_ns - begin_hi_ns - stalled_ns) / NS_PER_S,
            hi_s=max(0, end_hi_ns - begin_lo_ns) / NS_PER_S,
        ),
        starts_s=(begin_hi_ns - fault.acted_ns) / NS_PER_S,
        resolution_s=usual_s,
        open=is_last,
    )


def resolution_s(successes: pl.DataFrame, acted_ns: int) -> float:
    """The client's usual distance between two successes before the fault: max(1/rate, p99 gap).

    The rate is the one that was reached on this partition. Without two successes before it: the whole time before.
    """
    before_ns = successes["hi_ns"].filter(successes["hi_ns"] <= acted_ns)
    if before_ns.is_empty():
        return 0.0
    first_ns, last_ns = before_ns[0], before_ns[-1]
    between_ns = before_ns.diff().drop_nulls()
    if between_ns.is_empty():
        return (acted_ns - int(first_ns)) / NS_PER_S
    p99_ns = between_ns.sort()[round(0.99 * (len(between_ns) - 1))]
    return float(max((last_ns - first_ns) / len(between_ns), p99_ns)) / NS_PER_S


def _gaps(successes: pl.DataFrame, last_heard_ns: int) -> pl.DataFrame:
    """Every gap between neighbouring successes, and the last one up to `last_heard_ns`.

    Instants are uncertain, so each gap has an inner length (from the latest its begin can be to the earliest that any
    later success can be) and an outer one.
    """
    return successes.select(
        pl.col("lo_ns").cum_max().alias("begin_lo_ns"),
        pl.col("hi_ns").alias("begin_hi_ns"),
        pl.col("lo_ns").cum_min(reverse=True).shift(-1, fill_value=last_heard_ns).alias("end_lo_ns"),
        pl.col("hi_ns").shift(-1, fill_value=last_heard_ns).alias("end_hi_ns"),
        (pl.int_range(pl.len()) == pl.len() - 1).alias("is_last"),
    )
