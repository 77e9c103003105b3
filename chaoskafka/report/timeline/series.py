"""Throughput and latency over time, in bins.

In: a History and an Axis. Out: Charts. Pure. Only clients on the clock of the events are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from chaoskafka.clock import NS_PER_MS, NS_PER_S
from chaoskafka.history.doubt import clock_doubts
from chaoskafka.history.read import History
from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import loaded
from chaoskafka.report.timeline.axis import Axis
from chaoskafka.report.timeline.model import Chart, Line

BINS_MAX = 300  # about a point for every third pixel of a wide screen; more looks like noise
BIN_MIN_NS = 50 * NS_PER_MS  # below, a bin holds so few messages that it shows chance
LATENCIES_MAX = 2_000_000  # per partition; of more, every second, third … is taken: quantiles stay what they are

ACKNOWLEDGED = pl.col("outcome") == Outcome.ACKNOWLEDGED


def charts(history: History, axis: Axis) -> tuple[Chart, ...]:
    width_ns = max(BIN_MIN_NS, -(-(axis.end_ns - axis.begin_ns) // BINS_MAX))
    bins = -(-(axis.end_ns - axis.begin_ns) // width_ns)
    return (_throughput(history, axis, width_ns, bins), *_latency(history, axis, width_ns, bins))


def _throughput(history: History, axis: Axis, width_ns: int, bins: int) -> Chart:
    offered, acked, read = (np.zeros(bins, dtype=np.int64) for _ in range(3))
    produced = not clock_doubts(history, "produce")
    consumed = not clock_doubts(history, "consume")
    for partition in history.partitions:
        if produced:
            sends = history.sends(partition)
            _count(offered, sends["invoked_ns"], axis, width_ns)
            _count(acked, sends.filter(ACKNOWLEDGED)["completed_ns"], axis, width_ns)
        if consumed:
            _count(read, history.reads(partition)["read_ns"], axis, width_ns)
    lines = [("offered", offered), ("acknowledged", acked)] if produced else []
    lines += [("delivered", read)] if consumed and read.any() else []
    per_s = NS_PER_S / width_ns
    return Chart(
        name="throughput",
        unit="messages/s",
        bin_s=width_ns / NS_PER_S,
        lines=tuple(Line(name=name, values=tuple(float(v) * per_s for v in counts)) for name, counts in lines),
    )


def _count(counts: np.ndarray[tuple[int], np.dtype[np.int64]], at_ns: pl.Series, axis: Axis, width_ns: int) -> None:
    inside = at_ns.drop_nulls()
    places = ((inside - axis.begin_ns) // width_ns).to_numpy()
    counts += np.bincount(places[(places >= 0) & (places < len(counts))], minlength=len(counts))


def _latency(history: History, axis: Axis, width_ns: int, bins: int) -> Sequence[Chart]:
    """From handing a message to the client until the client told that it is stored, by the instant of telling."""
    if clock_doubts(history, "produce"):
        return ()
    taken = []
    for partition in loaded(history):
        sends = history.sends(partition).filter(pl.col("completed_ns").is_not_null() & ACKNOWLEDGED)
        sends = sends.gather_every(-(-sends.height // LATENCIES_MAX) or 1)
        taken.append(
            sends.select(
                bin=(pl.col("completed_ns") - axis.begin_ns) // width_ns,
                ms=(pl.col("completed_ns") - pl.col("invoked_ns")) / NS_PER_MS,
            )
        )
    if not taken or all(frame.is_empty() for frame in taken):
        return ()
    figures = (
        pl.concat(taken)
        .filter(pl.col("bin").is_between(0, bins - 1))
        .group_by("bin")
        .agg(
            pl.col("ms").quantile(0.5, "nearest").alias("median"),
            pl.col("ms").quantile(0.99, "nearest").alias("99 of 100 below"),
            pl.col("ms").max().alias("longest"),
        )
    )
    every = pl.DataFrame({"bin": range(bins)}, schema={"bin": pl.Int64}).join(figures, on="bin", how="left").sort("bin")
    lines = tuple(Line(name=name, values=tuple(every[name])) for name in figures.columns if name != "bin")
    return (Chart(name="latency", unit="ms", bin_s=width_ns / NS_PER_S, lines=lines, is_log=True),)
