"""Undo: how a deed on a node is taken back, as small values that a later process can read and perform. Pure.

In: what a fault is about to do. Out: what the undo ledger holds of it (`runtimes/ledger.py`). Each runtime knows how to
perform each verb from the node's name and the labels of a run, without the process that did the deed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Undo(StrEnum):
    """What takes a deed back. Each is idempotent: done twice, or to a node that was never hit, it does no harm."""

    START = "start"  # run Kafka's process on the node
    RESUME = "resume"  # let a frozen one run
    POWER_ON = "power_on"  # boot the machine, with all that belongs to START
    LIFT = "lift"  # delete a table of network rules; `detail` names it


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """One deed that was done, or was about to be."""

    fault: int  # its place in the plan
    word: str  # the fault's
    node: str  # its name
    undo: Undo
    detail: str = ""  # what the undo needs to know besides
