"""Alterations of what workers report, and of what they were asked to do.

In: a Copy. Out: nothing; the copy is changed.
"""

from __future__ import annotations

import polars as pl

from tests.histories.copy import Copy, Row


def start_at_the_end(copy: Copy) -> None:
    copy.workload("consume", settings={"auto.offset.reset": "latest"})


def write_a_transaction(copy: Copy) -> None:
    offset = copy.record(copy.acked()["offset"])["base_offset"]
    copy.set("audit/batch", pl.col("base_offset") == offset, transactional=True)


def read_nobody(copy: Copy) -> None:
    """The run had no consumer group."""
    copy.json("run.json", lambda h: {**h, "workloads": [w for w in h["workloads"] if w["word"] != "consume"]})


def miscount(copy: Copy) -> None:
    """A worker's own counts do not close."""
    copy.count(copy.producer, accepted=1)


def miscount_on_tape(copy: Copy) -> None:
    """A worker counted an acknowledgement that its tape has as of unknown outcome; its own counts close."""
    copy.count(copy.producer, acknowledged=1, indeterminate=-1)


def close_without_a_word(copy: Copy) -> None:
    copy.report(copy.producer, closed=False, drained=False, exit_code=1)


def fail_fatally(copy: Copy) -> None:
    copy.report(copy.producer, fatal=["-150: Fatal error: out of order sequence number"])


def fail_fatally_on_tape(copy: Copy) -> None:
    row = {"worker": copy.producer, "incarnation": 0, "ordinal": 0, "at_ns": 0, "code": -150, "fatal": True}
    copy.add("ops/error", row)


def die_of_a_signal(copy: Copy) -> None:
    copy.report(copy.producer, closed=False, drained=False, exit_code=None, exit_signal=11)


def hang_in_close(copy: Copy) -> None:
    copy.report(copy.producer, drained=False, exit_code=75)


def never_end(copy: Copy) -> None:
    copy.report(copy.producer, closed=False, drained=False, exit_code=None)


def end_by_our_kill(copy: Copy) -> None:
    """It had to be killed because it did not end when asked."""
    copy.report(copy.producer, closed=False, drained=False, exit_code=None, exit_signal=9, killed_by_us=True)


def kill_and_replace(copy: Copy) -> None:
    """A fault killed a worker, and a later incarnation took its place."""
    end_by_our_kill(copy)

    def change(rows: list[Row]) -> list[Row]:
        killed = next(row for row in rows if row["worker"] == copy.producer)
        none = dict.fromkeys(("offered", "refused", "accepted", "acknowledged", "indeterminate"), 0)
        alive = {"closed": True, "drained": True, "exit_code": 0, "exit_signal": None, "killed_by_us": False}
        return [*rows, killed | none | alive | {"incarnation": 1}]

    copy.json("ops/workers.json", change)


def crash_a_consumer(copy: Copy) -> None:
    copy.report(copy.consumer, closed=False, drained=False, crash="Traceback\nKeyError: 'orders'", exit_code=70)


def starve_a_consumer(copy: Copy) -> None:
    starved = {"exit_code": None, "exit_signal": 9, "out_of_memory": True}
    copy.report(copy.consumer, closed=False, drained=False, **starved)


def never_start_workers(copy: Copy) -> None:
    copy.json("ops/workers.json", lambda _: [])
