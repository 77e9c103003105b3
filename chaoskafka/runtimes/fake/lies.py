"""Lies: what a fake cluster does wrong on purpose, one thing each. Without any it is honest.

Those about messages hit one message of the first topic's partition 0, the one after `VICTIM` others, those about the
end its last one; those about service begin with the first death of a node.
"""

from __future__ import annotations

from enum import StrEnum

VICTIM = 5  # messages that come before the one that is hit: few, so that it comes in the shortest run


class Lie(StrEnum):
    """The values are words for people."""

    # acknowledged, then gone
    LOSE_HEAD = "the first message of the log is gone"
    LOSE_MIDDLE = "a message in the middle of the log is gone"
    LOSE_TAIL = "the log ends before its last message"
    OVERWRITE = "an acknowledged message is gone, and the next one lies at its offset"
    # stored otherwise than sent
    STORE_TWICE = "the broker stores a batch twice"
    SEND_TWICE = "the client sends a message again under another sequence number"
    REORDER = "the client sends two messages in the wrong order"
    CORRUPT = "a payload has changed"
    MISPLACE_PARTITION = "a message lies in another partition"
    MISPLACE_TOPIC = "a message lies in another topic"
    MISNAME = "an acknowledgement names another message's offset"
    # service after a death
    STALL = "a partition takes no writes any more"
    STARVE = "the groups are given nothing any more"
    ELECT_LATE = "the controller takes long to notice"
    SERVE_LATE = "new leaders are named in time and take long to serve"
    STAY_BEHIND = "a replica that comes back never catches up"
    SKIP = "a group's position jumps beyond the end"
    REWIND = "a group's position falls back to the start"
    # clients and workers
    CRASH = "a consumer dies of a signal"
    FAIL = "a consumer fails fatally"
    HANG = "a consumer does not close"
    MISCOUNT = "a producer's worker counts what it did not do"
    # the runtime itself
    IGNORE_KILL = "a kill reports success and does nothing"
    IGNORE_STOP = "a stop reports success and does nothing"
    IGNORE_START = "a start reports success and does nothing"
