"""Names and labels of everything that a run creates: a run id in, what finds it again out. Pure but for `owner`.

Labels alone must suffice to find and remove a dead run, so each object says which run it belongs to and who started
it. Names follow from run and part, so that a removal can be registered before the thing exists.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from chaoskafka.clock import boot_id

RUN = "chaoskafka.run"
ROLE = "chaoskafka.role"
NODE = "chaoskafka.node"
OWNER = "chaoskafka.owner"


class Part(StrEnum):
    """What a created object is (label `chaoskafka.role`)."""

    NETWORK = "network"
    HOST = "host"  # owns a node's network namespace and address
    KAFKA = "kafka"
    DATA = "data"  # a node's disk
    CLIENT = "client"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that started a run, so that its death can be seen even when its lock file is lost."""

    machine: str
    boot: str
    pid: int
    started_ticks: int  # start of the process, clock ticks since boot: tells a reused pid from the owner

    def __str__(self) -> str:
        return f"{self.machine}/{self.boot}/{self.pid}/{self.started_ticks}"

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """None when `text` is no owner label of ours."""
        parts = text.split("/")
        if len(parts) != 4 or not (parts[2].isdigit() and parts[3].isdigit()):
            return None
        return cls(machine=parts[0], boot=parts[1], pid=int(parts[2]), started_ticks=int(parts[3]))


def this_owner() -> Owner:
    """This process."""
    pid = os.getpid()
    return Owner(machine=socket.gethostname(), boot=boot_id(), pid=pid, started_ticks=process_started_ticks(pid) or 0)


def process_started_ticks(pid: int) -> int | None:
    """When process `pid` started, in clock ticks since boot (proc(5), stat, field 22); None: there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])  # the command's name, in parentheses, may itself hold any sign


def labels(run_id: str, part: Part, node: str | None = None) -> dict[str, str]:
    """Labels of one object that this process creates."""
    found = {RUN: run_id, ROLE: part.value, OWNER: str(this_owner())}
    return {**found, NODE: node} if node is not None else found


def object_name(run_id: str, *parts: str) -> str:
    """The engine's name for one object of a run."""
    return "-".join(("chaoskafka", run_id, *parts))
