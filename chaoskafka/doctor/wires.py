"""Examinations of a container's network: what a privileged neighbour in its namespace can do to it, and undo."""

from __future__ import annotations

from collections.abc import Callable

from chaoskafka.doctor.examination import Examination, Seen, State, Visit
from chaoskafka.errors import EnvironmentFailure


def _inside(word: str) -> Callable[[Visit], Seen]:
    def act(visit: Visit) -> Seen:
        found = visit.bed.inside(word)
        if not found["good"]:
            raise EnvironmentFailure(str(found["text"]))
        return Seen(text=str(found["text"]))

    return act


def _row(word: str, does: str, mend: str, means: str) -> Examination:
    return Examination(
        word=word,
        does=does,
        act=_inside(word),
        mend=mend,
        otherwise=State.WARNING,
        means=means,
        after=("container",),
    )


EXAMINATIONS = (
    _row(
        "nft",
        "a rule drops what comes for a container's port: it is silent, and answers once the rule is gone",
        "sudo modprobe nf_tables   # or boot a kernel that has it",
        "faults that cut the network cannot be played",
    ),
    _row(
        "tbf",
        "a container's loopback is limited to 4 Mbit/s, and data is seen to take as long as that implies",
        "sudo modprobe sch_tbf   # or boot a kernel that has it",
        "faults that limit bandwidth cannot be played",
    ),
    _row(
        "netem",
        "the kernel's own delay is put on a container's loopback, and an answer is seen to be late",
        "sudo modprobe sch_netem   # or boot a kernel that has it",
        "delays go through a packet queue (nfqueue) instead, which costs some processor time",
    ),
    _row(
        "nfqueue",
        "packets for a container go through a process that holds each for 150 ms, and an answer is seen to be late",
        "sudo modprobe -a nfnetlink_queue xt_NFQUEUE   # or boot a kernel that has them",
        "where netem is not there either, faults that delay packets cannot be played",
    ),
    _row(
        "cut",
        "a TCP connection that stands is ended from outside (`ss -K`)",
        "boot a kernel with CONFIG_INET_DIAG_DESTROY",
        "after a healed cut, connections wait for TCP's own retransmission: recovery takes 7-14 s instead of 1-2 s",
    ),
)
