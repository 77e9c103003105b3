"""Alterations of the log: each changes one row, or the few rows that say the same thing in several files.

In: a Copy. Out: nothing; the copy is changed.
"""

from __future__ import annotations

import polars as pl

from chaoskafka.history.identity import PayloadState
from chaoskafka.history.tape import Outcome
from tests.histories.alterations.rows import at, message
from tests.histories.copy import Copy, Row


def lose_one(copy: Copy) -> None:
    """An acknowledged message is not in the log."""
    copy.drop("audit/record", at(copy.acked()["offset"]))


def lose_the_tail(copy: Copy) -> None:
    """The log ends one acknowledged message early."""
    history, partition = copy.history, copy.partition
    last = history.ends[partition].end - 1
    copy.drop("audit/record", at(last))
    copy.end(end=last, read_to=last)


def lose_one_without_offset(copy: Copy) -> None:
    """A message is not in the log that was acknowledged without an offset."""
    row = copy.acked()
    copy.drop("audit/record", at(row["offset"]))
    copy.set("ops/send", message(row), offset=None)


def forget_an_offset(copy: Copy) -> None:
    """An acknowledgement carries no offset; the message is there."""
    copy.set("ops/send", message(copy.acked()), offset=None)


def replace_one(copy: Copy) -> None:
    """Another message stands where an acknowledged one should be, and readers saw it there as well."""
    gone, other = copy.acked(0.5), copy.acked(0.6)
    named = {name: other[name] for name in ("producer", "incarnation", "sequence")}
    copy.set("audit/record", at(gone["offset"]), **named)
    copy.set("ops/read", at(gone["offset"]), **named)


def expire_the_head(copy: Copy) -> None:
    """Retention removed the first tenth of the log before it was audited."""
    start = copy.acked(0.1)["offset"]
    copy.drop("audit/record", pl.col("offset") < start)
    copy.end(log_start=start)


def append(copy: Copy, *, same_sending: bool = False, again: Row | None = None, **record: object) -> None:
    """A record is appended to the log, in a batch of its own, and delivered to the group like any other.

    `again`: the record that it repeats; `same_sending`: also under the same producer sequence.
    """
    history, partition = copy.history, copy.partition
    model = again or copy.record(copy.acked()["offset"])
    end = history.ends[partition].end
    batch = history.batches(partition).row(by_predicate=pl.col("base_offset") == model["base_offset"], named=True)
    fields = [name for name in history.records(partition).columns if name in model]
    row = {name: model[name] for name in fields} | record | {"offset": end, "base_offset": end}
    number = model["base_sequence"] + model["offset"] - model["base_offset"]
    copy.add("audit/record", row)
    copy.add(
        "audit/batch",
        batch
        | {"base_offset": end, "last_offset": end, "count": 1}
        | {
            "base_sequence": number if same_sending else 1_000_000,
            "leader_epoch": history.ends[partition].leader_epoch,
        },
    )
    copy.end(end=end + 1, read_to=end + 1)
    last = history.reads(partition).sort("read_ns").row(-1, named=True)
    copy.add("ops/read", {name: row.get(name, value) for name, value in last.items()} | {"offset": end})


def store_twice(copy: Copy) -> None:
    """The broker stored one batch twice: the same producer id, epoch and sequence."""
    again = copy.record(copy.acked()["offset"])
    append(copy, again=again, same_sending=True)


def send_twice(copy: Copy) -> None:
    """The client sent one message again under another sequence."""
    append(copy, again=copy.record(copy.acked()["offset"]))


def store_unsent(copy: Copy) -> None:
    """A message is in the log that its producer never sent."""
    append(copy, sequence=10_000_000)


def store_misplaced(copy: Copy) -> None:
    """A message is in the log that was sent to another partition."""
    append(copy, sent_partition=copy.other_partition.partition)


def store_torn(copy: Copy) -> None:
    """A record of ours is in the log whose checksum is wrong."""
    append(copy, **_nobody(PayloadState.TORN))


def store_foreign(copy: Copy) -> None:
    """Another application wrote to the topic."""
    append(copy, **_nobody(PayloadState.FOREIGN))


def _nobody(state: PayloadState) -> Row:
    identity = {"producer": 0, "incarnation": 0, "sequence": -1}
    return {"state": state, **identity, "sent_topic": None, "sent_partition": None}


def refuse_what_is_stored(copy: Copy) -> None:
    """A message is in the log that the client had refused to take."""
    row = copy.acked()
    copy.set("ops/send", message(row), outcome=Outcome.REJECTED, offset=None)
    copy.count(row["producer"], refused=1, accepted=-1, acknowledged=-1)


def doubt_one(copy: Copy) -> None:
    """A message of unknown outcome is in the log, at a place before an earlier one: late, but nobody was told."""
    swap_two(copy)
    row = copy.acked(0.5)
    copy.set("ops/send", message(row), outcome=Outcome.INDETERMINATE, offset=None, completed_ns=None, completed=False)
    copy.count(row["producer"], acknowledged=-1, indeterminate=1)


def swap_two(copy: Copy) -> None:
    """Two messages of one producer changed places, and all agree that they did."""
    history, partition = copy.history, copy.partition
    one = copy.acked(0.5)
    sends = history.sends(partition).filter(
        (pl.col("producer") == one["producer"])
        & (pl.col("outcome") == Outcome.ACKNOWLEDGED)
        & (pl.col("offset") > one["offset"])
    )
    other = sends.sort("sequence").row(0, named=True)
    for kind in ("audit/record", "ops/read"):
        # Both at once, so that the second change does not find what the first one wrote.
        copy.table(kind, lambda table: table.with_columns(sequence=_exchanged("sequence", "offset", one, other)))
    copy.table(
        "ops/send", lambda t: t.with_columns(offset=_exchanged("offset", "sequence", one, other, one["producer"]))
    )


def _exchanged(value: str, key: str, one: Row, other: Row, producer: int | None = None) -> pl.Expr:
    mine = pl.lit(value=True) if producer is None else pl.col("producer") == producer
    return (
        pl.when(mine & (pl.col(key) == one[key]))
        .then(pl.lit(other[value]))
        .when(mine & (pl.col(key) == other[key]))
        .then(pl.lit(one[value]))
        .otherwise(pl.col(value))
    )
