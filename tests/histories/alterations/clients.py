"""Alterations of what clients were told and given.

In: a Copy. Out: nothing; the copy is changed.
"""

from __future__ import annotations

import polars as pl

from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import acted
from tests.histories.alterations.rows import at, doubt_acks, message
from tests.histories.copy import Copy


def misname_an_acknowledgement(copy: Copy) -> None:
    """An acknowledgement names the offset of another message."""
    copy.set("ops/send", message(copy.acked(0.5)), offset=copy.acked(0.6)["offset"])


def misread_one(copy: Copy) -> None:
    """A consumer found another message at an offset than the audit did."""
    copy.set("ops/read", at(copy.acked(0.5)["offset"]), sequence=copy.acked(0.6)["sequence"])


def read_again(copy: Copy) -> None:
    """One record was delivered twice, at one offset."""
    row = copy.history.reads(copy.partition).row(-1, named=True)
    copy.add("ops/read", row | {"ordinal": row["ordinal"] + 1})


def skip_one(copy: Copy) -> None:
    """One record was never delivered to the group."""
    copy.drop("ops/read", at(copy.acked()["offset"]))


def stop_reading(copy: Copy) -> None:
    """The group got nothing of one partition after the recovery."""
    copy.drop("ops/read", pl.col("read_ns") >= _recovered_ns(copy))


def never_read_before(copy: Copy) -> None:
    """The group got nothing of one partition before the fault, and everything after it."""
    acted_ns = acted(copy.history)[0].acted_ns
    assert acted_ns is not None
    copy.set("ops/read", pl.col("read_ns") <= acted_ns, read_ns=acted_ns + 1)


def stop_acknowledging(copy: Copy) -> None:
    """Nothing on one partition was acknowledged after the recovery, though it was offered and stored."""
    doubt_acks(copy, pl.col("completed_ns") >= _recovered_ns(copy))


def stall_at_the_end(copy: Copy) -> None:
    """One partition was served after the recovery, then no more while load went on for another ten seconds."""
    history, partition = copy.history, copy.partition
    last = history.sends(partition).filter(pl.col("producer") == copy.producer).row(-1, named=True)
    late = {
        "sequence": last["sequence"] + 1,
        "outcome": Outcome.INDETERMINATE,
        "completed": False,
        "offset": None,
        "invoked_ns": last["invoked_ns"] + 10_000_000_000,
        "completed_ns": None,
        "latency_ns": None,
        "code": 0,
    }
    copy.add("ops/send", last | late)
    copy.count(copy.producer, offered=1, accepted=1, indeterminate=1)


def _recovered_ns(copy: Copy) -> int:
    return next(event.at_ns for event in copy.history.events if event.event == "recovered")
