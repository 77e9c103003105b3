"""Whether the machine had no cores to spare while something took too long: then nobody can say that Kafka took it.

In: the observer's lines, and a stretch of time. Out: a sentence, or None. Pure.
"""

from __future__ import annotations

import polars as pl

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import observer_clock_doubts
from chaoskafka.history.kept import once
from chaoskafka.history.read import History

# Of the time, in which some task waited for a core. Three brokers and their clients on two cores that they have to
# themselves stay below two thirds; from here on whatever takes processor time takes several times as long.
STARVED_SHARE = 0.9
SLOWER = 3  # times as long, at most, as starvation is taken to make anything: what is later by more was late without it
COVERED_SHARE = 0.8  # of the stretch must have been looked at: pressure is told once a second


def starvation(history: History, begin_ns: int, end_ns: int, *, limit_s: float) -> str | None:
    """What starved the cluster from `begin_ns` to `end_ns`, so that it may have kept to `limit_s` otherwise.

    None: it had cores, or nobody knows, or it was too late even so.
    """
    length_ns, looked_ns, waited_ns = end_ns - begin_ns, 0.0, 0.0
    if observer_clock_doubts(history) or not 0 < length_ns <= SLOWER * limit_s * NS_PER_S:
        return None
    for lo_ns, hi_ns, gap_ns in _pressure(history):
        inside_ns = min(hi_ns, end_ns) - max(lo_ns, begin_ns)
        if inside_ns > 0 and hi_ns > lo_ns:
            looked_ns += inside_ns
            waited_ns += gap_ns * inside_ns / (hi_ns - lo_ns)
    if looked_ns < COVERED_SHARE * length_ns or waited_ns < STARVED_SHARE * looked_ns:
        return None
    percent = 100 * waited_ns / looked_ns
    return f"for {percent:.0f} % of those {length_ns / NS_PER_S:.1f} s tasks waited for a core"


@once
def _pressure(history: History) -> list[tuple[int, int, int]]:
    told = history.observations.filter(pl.col("kind") == "pressure").select("lo_ns", "hi_ns", "gap_ns")
    return told.drop_nulls().rows()
