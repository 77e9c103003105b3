"""`observations.jsonl`: what the observer saw change, as intervals.

Each line: `{"kind", "lo_ns", "hi_ns", …}`: the change happened after `lo_ns` (send of the last poll that still showed
the old state) and no later than `hi_ns` (receipt of the first that showed the new one). Kinds:

leadership  {broker, topic, partition, leader, epoch, isr: [ids], replicas: [ids]}  its answer changed (leader -1: none)
epoch       {broker, offset}             finalized-features epoch = last applied metadata offset (written on change)
reachable   {broker, up: bool, error}    the broker began or ceased to answer the observer
fenced      {broker, by, fenced: bool}   DescribeCluster of broker `by` says whether `broker` is fenced
controller  {broker, controller}         the active controller that `broker`'s DescribeQuorum names; -1 none
stall       {gap_ns}                     the observer itself was late by that much (machine stall): widens intervals
started     {clock}                      the observer began; the clock of all its instants (chaoskafka.clock.clock_id())
stopped     {}                           the observer ended
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

_COLUMNS: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "kind": pl.String,
    "lo_ns": pl.Int64,
    "hi_ns": pl.Int64,
    "broker": pl.Int32,
    "topic": pl.String,
    "partition": pl.Int32,
    "leader": pl.Int32,
    "epoch": pl.Int32,
    "isr": pl.List(pl.Int32),
    "replicas": pl.List(pl.Int32),
    "offset": pl.Int64,
    "up": pl.Boolean,
    "error": pl.String,
    "by": pl.Int32,
    "fenced": pl.Boolean,
    "controller": pl.Int32,
    "gap_ns": pl.Int64,
    "clock": pl.String,
}
OBSERVATION = pl.Schema(_COLUMNS)
