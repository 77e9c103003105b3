"""Signals straight to a container's process, never to a stranger's.

A pid that the engine names may belong to somebody else by now, or to another kernel (engine in a VM, harness in a
container). So: a pidfd is opened first, then everything is checked that could tell, and the signal goes through the
pidfd, which never follows a reused number. The way through the engine took up to 0.8 s; this one takes microseconds.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from chaoskafka.clock import NS_PER_S
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.owner import process_started_ticks

# Wall time may be slewed or stepped a little between the container's creation and now.
_AGE_SLACK_S = 2.0

_FRACTION = re.compile(r"\.(\d{1,6})\d*")  # the engine writes nanoseconds; datetime reads microseconds


class NotOurs(Exception):
    """Why a process is not taken for the container's. Caught where another way is at hand."""


def send(pid: int, signal_number: signal.Signals, *, container_id: str, created: str) -> int:
    """Send a signal to a container's process; returns the monotonic instant right after it, in ns.

    `created`: the container's creation, as the engine writes it. Raises NotOurs, and then nothing was sent.
    """
    with _held(pid) as descriptor:
        check(pid, container_id=container_id, created=created)
        try:
            signal.pidfd_send_signal(descriptor, signal_number)
        except OSError as refused:
            raise NotOurs(f"pid {pid}: {refused.strerror}") from refused
        return time.monotonic_ns()


def send_if_ours(engine: Engine, found: Mapping[str, Any], signal_number: signal.Signals) -> int:
    """`send` to the process of an inspected container, if its engine is this machine's. Raises NotOurs."""
    pid = found["State"]["Pid"]
    if not engine.is_local:
        raise NotOurs(f"pid {pid} is one of {engine.host}")
    return send(pid, signal_number, container_id=found["Id"], created=found["Created"])


def check(pid: int, *, container_id: str, created: str) -> None:
    """Raises NotOurs unless pid's cgroup names the container, it is not older, and its network is not our own."""
    try:
        cgroups = Path(f"/proc/{pid}/cgroup").read_text()
        network = os.stat(f"/proc/{pid}/ns/net").st_ino  # noqa: PTH116 - a namespace link must be followed, as stat does
        ours = os.stat("/proc/self/ns/net").st_ino  # noqa: PTH116
    except OSError as unreadable:
        raise NotOurs(f"pid {pid}: {unreadable}") from unreadable
    if not names_container(cgroups, container_id):
        raise NotOurs(f"pid {pid}: its cgroup does not name container {container_id[:12]}")
    if network == ours:
        raise NotOurs(f"pid {pid}: it shares our own network namespace")
    age_s = _age_s(pid)
    container_age_s = time.time() - wall_time_s(created)
    if age_s is None or age_s > container_age_s + _AGE_SLACK_S:
        raise NotOurs(f"pid {pid}: {age_s} s old, its container {container_age_s:.1f} s")


def names_container(cgroups: str, container_id: str) -> bool:
    """Whether /proc/PID/cgroup's text puts the process in the container; `container_id` is the full id.

    cgroup v1 has a line per controller (`4:memory:/docker/ID`), v2 one (`0::/system.slice/docker-ID.scope`,
    `libpod-ID.scope` by Podman); some engines nest deeper. The id, 64 hexadecimal digits, must be a whole part of the
    path. Podman's monitor of a container (`libpod-conmon-ID.scope`) is not in it. A shape that is none of these, as
    the `0::/` of a cgroup namespace that is not ours, names nothing.
    """
    if not re.fullmatch(r"[0-9a-f]{64}", container_id):
        return False
    part = re.compile(rf"(?:^|/)(?:[a-z-]*(?<!conmon)-)?{container_id}(?:\.scope)?(?:/|$)")
    return any(part.search(line.split(":", 2)[2]) for line in cgroups.splitlines() if line.count(":") >= 2)


def wall_time_s(engine_time: str) -> float:
    """Seconds since the epoch of a time as the engine writes it (RFC 3339 with nanoseconds)."""
    return datetime.fromisoformat(_FRACTION.sub(r".\1", engine_time)).timestamp()


@contextmanager
def _held(pid: int) -> Iterator[int]:
    try:
        descriptor = os.pidfd_open(pid)
    except OSError as refused:
        raise NotOurs(f"pid {pid}: {refused.strerror}") from refused
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _age_s(pid: int) -> float | None:
    ticks = process_started_ticks(pid)
    if ticks is None:
        return None
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / NS_PER_S - ticks / os.sysconf("SC_CLK_TCK")
