"""`observations.jsonl`: what the observer saw change, as intervals.

Each line: `{"kind", "lo_ns", "hi_ns", …}`: the change happened after `lo_ns` (send of the last poll that still showed
the old state) and no later than `hi_ns` (receipt of the first that showed the new one). Kinds:

leadership  {broker, topic, partition, leader, epoch, isr: [ids], replicas: [ids]}  its answer changed (leader -1: none)
epoch       {broker, offset}             finalized-features epoch = last applied metadata offset (written on change)
reachable   {broker, up: bool, error}    the broker began or ceased to answer the observer
fenced      {broker, by, fenced: bool}   DescribeCluster of broker `by` says whether `broker` is fenced
controller  {broker, controller}         the active controller that `broker`'s DescribeQuorum names; -1 none
log_…       one record of the metadata log, or what became of it; see below
quorum      {by, controller, quorum_epoch, error}   whom controller `by` takes for the active one; -1: it knows none;
            with an error and no epoch: it did not answer, or not what can be read
stall       {gap_ns}                     the observer itself was late by that much in all: widens intervals
pressure    {gap_ns}                     for so long, of the time from lo_ns to hi_ns, some task waited for a core (PSI)
started     {clock}                      the observer began; the clock of all its instants (chaoskafka.clock.clock_id())
stopped     {}                           the observer ended

Records of the metadata log, in the order of their offsets: `{offset, last_offset (of its batch), quorum_epoch (of the
controller that wrote it), by (the controller it was read of), stamped_ms, …}`. `lo_ns` is the batch's timestamp, which
is early by up to the append linger and never late; `hi_ns` is the arrival here. The first lines are the log from its
beginning, long before the observer. What stands after the record, epochs counted:

log_partition  {topic, partition, leader, epoch, partition_epoch, isr, replicas, elr, recovering (unclean election)}
log_broker     {broker, broker_epoch, fenced, stopping (in controlled shutdown)}
log_leader     {controller}          the first record of a new active controller
log_feature    {name, level}
log_noop       {}                    the active controller lives
log_committed  {last_offset}         the batch that ends there was below the high watermark
log_cut        {offset, quorum_epoch}   what earlier epochs had from `offset` on was never committed, and is gone
log_skipped    {offset}              the log began with a snapshot: nothing is known of what lay before `offset`
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
    "quorum_epoch": pl.Int32,
    "last_offset": pl.Int64,
    "stamped_ms": pl.Int64,
    "partition_epoch": pl.Int32,
    "elr": pl.List(pl.Int32),
    "recovering": pl.Boolean,
    "broker_epoch": pl.Int64,
    "stopping": pl.Boolean,
    "name": pl.String,
    "level": pl.Int32,
    "clock": pl.String,
}
OBSERVATION = pl.Schema(_COLUMNS)
