"""Freezing Kafka's process: SIGSTOP straight to it when it is surely ours, otherwise the engine's pause.

In: Kafka's container. Out: a frozen process, and one that runs on. A stopped process can still be killed, stopped and
removed by anybody. One in a frozen control group of the first version cannot be killed past the engine: SIGKILL waits
there for the thaw; the engine itself thaws what it kills or removes. So the signal comes first: it is immediate, too.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from docker import errors as docker_errors
from docker.models.containers import Container

from chaoskafka.cluster.abilities import Deed
from chaoskafka.errors import FaultFailed
from chaoskafka.runtimes.docker import pids
from chaoskafka.runtimes.docker.containers import inspect, send_signal
from chaoskafka.runtimes.docker.engine import Engine, asking

_STOPPED = "T"  # the state of a process in /proc/PID/stat, after SIGSTOP


def freeze(engine: Engine, kafka: Container, name: str) -> Deed:
    """Freeze Kafka of node `name`. Raises FaultFailed when there is no process to freeze, and EnvironmentFailure."""
    found = inspect(engine, kafka)
    if not found["State"]["Running"]:
        raise FaultFailed(f"{name}: Kafka is not running, there is nothing to pause")
    what, pid = f"pause of Kafka on {name}", found["State"]["Pid"]
    try:
        acted_ns = pids.send_if_ours(engine, found, signal.SIGSTOP)
    except pids.NotOurs as why:
        asked_ns = time.monotonic_ns()
        with asking(f"pausing Kafka on {name}"):
            kafka.pause()
        return Deed(what=what, means=f"engine API ({why})", asked_ns=asked_ns, acted_ns=time.monotonic_ns())
    return Deed(what=what, means=f"pidfd_send_signal SIGSTOP to pid {pid}", acted_ns=acted_ns)


def thaw(engine: Engine, kafka: Container, name: str) -> Deed:
    """Let it run on, by whichever means it was frozen; one that runs or has ended is left alone.

    Raises EnvironmentFailure.
    """
    what, found = f"resumption of Kafka on {name}", inspect(engine, kafka)
    if not found["State"]["Running"]:
        return Deed(what=what, means="it had ended", acted_ns=time.monotonic_ns())
    means = "SIGCONT by the engine API"
    if found["State"]["Paused"]:
        means = "engine API"
        with asking(f"resuming Kafka on {name}"), suppress(docker_errors.NotFound):
            kafka.unpause()
    # Also after the engine's own pause: what a process does not wait for does it no harm.
    send_signal(kafka, "SIGCONT")
    return Deed(what=what, means=means, acted_ns=time.monotonic_ns())


def is_frozen(engine: Engine, found: Mapping[str, Any]) -> bool:
    """Whether the process of an inspected container is frozen, as far as engine and kernel tell."""
    state = found["State"]
    return bool(state["Paused"]) or (bool(state["Running"]) and _is_stopped(engine, found))


def _is_stopped(engine: Engine, found: Mapping[str, Any]) -> bool:
    pid = found["State"]["Pid"]
    if not engine.is_local:
        return False
    try:
        pids.check(pid, container_id=found["Id"], created=found["Created"])
        # pid (name) state …; a name may hold anything, so the last parenthesis ends it.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith(_STOPPED)
    except (pids.NotOurs, OSError):
        return False
