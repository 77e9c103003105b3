"""Examinations of this process and its machine: packages, directories, cores. None needs an engine."""

from __future__ import annotations

import importlib
import re
import sys
from importlib import metadata

from chaoskafka import machine
from chaoskafka.doctor.examination import Examination, Seen, State, Visit
from chaoskafka.runtimes import locks

# Distributions whose modules have another name than theirs.
_MODULES = {"confluent-kafka": "confluent_kafka", "PyYAML": "yaml", "cattrs": "cattr"}
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def packages(_: Visit) -> Seen:
    """Each package that chaoskafka depends on is imported."""
    found, broken = [], []
    for name in _dependencies():
        try:
            importlib.import_module(_MODULES.get(name, name.replace("-", "_")))
            found.append(f"{name} {metadata.version(name)}")
        except (ImportError, OSError) as failed:  # OSError: a shared library of it
            broken.append((name, failed))
    if broken:
        text = "; ".join(f"{name}: {failed}" for name, failed in broken)
        names = " ".join(name for name, _ in broken)
        return Seen(text=text, state=State.MISSING, mend=f"{sys.executable} -m pip install --force-reinstall {names}")
    return Seen(text=f"Python {sys.version.split()[0]}; {', '.join(found)}")


def _dependencies() -> list[str]:
    required = metadata.requires("chaoskafka") or []
    return [match.group() for each in required if "extra ==" not in each and (match := _NAME.match(each))]


def state(visit: Visit) -> Seen:
    """A run's lock is taken and given back."""
    with locks.run_lock(visit.run_id) as path:
        return Seen(text=f"{path.parent} takes locks")


def room(visit: Visit) -> Seen:
    """The free room where run directories go is read, and a directory is made and removed."""
    machine.check_run_directory(visit.out)
    return Seen(text=f"{machine.free_mib(visit.out)} MiB free for run directories in {visit.out}")


def cores(_: Visit) -> Seen:
    """How many cores there are, and how long tasks wait for them, is read."""
    now, enough = machine.cores(), machine.cores().usable >= 2
    good = enough and not now.starved and not now.hopeless
    return Seen(text=str(now), state=State.OK if good else State.WARNING)


def memory_limit(_: Visit) -> Seen:
    """The memory that a control group grants to chaoskafka itself is read."""
    limit = machine.memory_limit_mib()
    if limit is None:
        return Seen(text="no limit on chaoskafka's own memory")
    good = limit >= machine.HARNESS_MIB
    text = f"chaoskafka itself may use {limit} MiB, judging a run takes up to {machine.HARNESS_MIB}"
    return Seen(text=text, state=State.OK if good else State.WARNING)


EXAMINATIONS = (
    Examination(
        word="packages",
        does="every Python package that chaoskafka depends on is imported",
        act=packages,
        mend="pip install --force-reinstall chaoskafka",
    ),
    Examination(
        word="state",
        does="a run's lock is taken in the state directory, and given back",
        act=state,
        mend="export XDG_STATE_HOME=/a/directory/that/you/may/write",
        means="living runs cannot be told from dead ones, so nothing is started",
    ),
    Examination(
        word="run_directory",
        does="the free room where run directories go is read",
        act=room,
        mend="chaoskafka run … --out /a/larger/disk",
    ),
    Examination(
        word="cores",
        does="the cores that may be used are counted, and how long tasks wait for them is read",
        act=cores,
        mend="ps -eo pcpu,args --sort=-pcpu | head   # what uses them",
        otherwise=State.WARNING,
        means="intervals become wide, and an answer unknown where a limit lies inside one",
    ),
    Examination(
        word="harness_memory",
        does="the memory that chaoskafka's own control group grants is read",
        act=memory_limit,
        mend="docker update --memory 2g CONTAINER   # the container that chaoskafka runs in",
        otherwise=State.WARNING,
        means="judging a long run may be killed by the kernel",
    ),
)
