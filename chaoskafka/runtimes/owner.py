"""Who started a run: enough of a process to tell, later and from elsewhere, whether it still lives.

In: /proc of this process. Out: an Owner, written into the labels of all that a run creates. Pure but for reading.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path

from chaoskafka.clock import boot_id

_PID_MAX = 1 << 22  # PID_MAX_LIMIT of 64-bit Linux
_IN_CGROUP = re.compile(r"^.*[/-]([0-9a-f]{64})(?:\.scope)?(?:/[^/\s]*)*$", re.MULTILINE)
_IN_MOUNTS = re.compile(r"containers/([0-9a-f]{64})/(?:userdata/)?(?:hostname|hosts|resolv\.conf) /etc/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that started a run, so that its death can be seen even when its lock file is lost."""

    machine: str
    boot: str
    pid: int
    started_ticks: int  # start of the process, clock ticks since boot: tells a reused pid from the owner
    pid_namespace: str  # where `pid` is counted: a harness in a container has ids of its own
    container: str  # full id of the container that it runs in; "" outside, or where it cannot be told

    def __str__(self) -> str:
        return f"{self.machine}/{self.boot}/{self.pid}/{self.started_ticks}/{self.pid_namespace}/{self.container}"

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """None when `text` is no owner label of ours."""
        parts = text.split("/")
        if len(parts) != 6 or not (parts[2].isdecimal() and parts[3].isdecimal()) or int(parts[2]) > _PID_MAX:
            return None
        machine, boot, pid, ticks, namespace, container = parts
        return cls(
            machine=machine,
            boot=boot,
            pid=int(pid),
            started_ticks=int(ticks),
            pid_namespace=namespace,
            container=container,
        )


def this_owner() -> Owner:
    """This process."""
    pid = os.getpid()
    return Owner(
        machine=socket.gethostname(),
        boot=boot_id(),
        pid=pid,
        started_ticks=process_started_ticks(pid) or 0,
        pid_namespace=pid_namespace(),
        container=own_container(),
    )


def pid_namespace(process: str = "self") -> str:
    """The number of a process's pid namespace (pid_namespaces(7)), the same for whoever asks. Raises OSError."""
    return Path(f"/proc/{process}/ns/pid").readlink().name.removeprefix("pid:[").removesuffix("]")


def own_container() -> str:
    """The full id of the container that this process runs in; "" when it is in none, or in one that does not show."""
    texts = []
    for name in ("cgroup", "mountinfo"):
        try:
            texts.append(Path(f"/proc/self/{name}").read_text())
        except OSError:
            texts.append("")
    return container_named_in(*texts)


def container_named_in(cgroups: str, mounts: str) -> str:
    """The id that /proc/self/cgroup names last (cgroup v1, or a shared namespace), else /proc/self/mountinfo.

    With a cgroup namespace of its own a container sees "0::/"; what tells then is that Docker and Podman mount its
    /etc/hostname from a directory that is named after it.
    """
    found = _IN_CGROUP.findall(cgroups) or _IN_MOUNTS.findall(mounts)
    return str(found[-1]) if found else ""


def process_started_ticks(pid: int) -> int | None:
    """When process `pid` started, in clock ticks since boot (proc(5), stat, field 22); None: there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])  # the command's name, in parentheses, may itself hold any sign
