"""Examinations of the engine: what it is, which images it has, what dead runs left in it."""

from __future__ import annotations

import shutil
from typing import Any

from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.doctor import inside
from chaoskafka.doctor.examination import Examination, Seen, State, Visit
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import Kind, outdated, recipe_of
from chaoskafka.runtimes.docker.bed import Bed
from chaoskafka.runtimes.docker.engine import API_OLDEST, describe
from chaoskafka.runtimes.docker.sweep import dead_runs

TOOLS = ("mmdebstrap", "mvn", "java")
BUILD = "chaoskafka image build"
SHOWN_MAX = 3  # dead runs that are named; the others are counted


def engine(visit: Visit) -> Seen:
    """It is asked what it is."""
    bed = Bed(visit.run_id, source=inside.SOURCE, port=inside.PORT, capabilities=visit.capabilities)
    visit.made = visit.life.enter_context(bed)
    found = describe(bed.connect())
    text = f"docker {found.version}, API {found.api}, storage {found.storage}, cgroup v{found.cgroup}, at {found.at}"
    if found.api_number < API_OLDEST:
        oldest = ".".join(map(str, API_OLDEST))
        raise EnvironmentFailure(
            f"{text}: the API must be {oldest} or newer", mend="install Docker Engine 20.10 or newer"
        )
    if found.system != "linux":
        raise EnvironmentFailure(f"{text}: its containers are {found.system}'s, not Linux'")
    return Seen(text=text)


def images(visit: Visit) -> Seen:
    """Each image is looked up and its recipe compared."""
    kafka = ClusterSpec().release
    visit.bed.image = recipe_of(Kind.TOOLBOX).name
    old = outdated(kafka)
    if not old:
        return Seen(text=f"those for Kafka {kafka} are current")
    tools = [tool for tool in TOOLS if shutil.which(tool) is None]
    names = ", ".join(recipe.name for recipe in old)
    if tools:
        install = "sudo apt-get install mmdebstrap debian-archive-keyring maven openjdk-17-jre-headless"
        text = f"{names} would be built, and {', '.join(tools)} to build with is not installed"
        return Seen(text=text, state=State.MISSING, mend=f"{install} && {BUILD}")
    if any(recipe.kind is Kind.TOOLBOX for recipe in old):
        return Seen(text=f"{names} would be built; without the toolbox nothing below can be tried", state=State.MISSING)
    return Seen(text=f"{names} would be built first, in about two minutes", state=State.WARNING)


def left_behind(visit: Visit) -> Seen:
    """What carries the label of a dead run is listed."""
    dead: dict[str, Any] = {**dead_runs(visit.bed.engine)}
    dead.pop(visit.run_id, None)
    if not dead:
        return Seen(text="nothing of dead runs is left in the engine")
    named = [f"{run_id} ({len(names)} things)" for run_id, names in list(dead.items())[:SHOWN_MAX]]
    more = f", and {len(dead) - SHOWN_MAX} more" if len(dead) > SHOWN_MAX else ""
    return Seen(text=f"dead runs left something: {', '.join(named)}{more}", state=State.WARNING)


EXAMINATIONS = (
    Examination(
        word="engine",
        does="the Docker engine is asked for its version, API (1.41 or newer), storage driver and cgroup version",
        act=engine,
        mend="sudo systemctl start docker",
        after=("packages", "state"),
    ),
    Examination(
        word="images",
        does="the images of the default Kafka are looked up, and their recipes compared; if one would be built, the"
        " tools that build it are looked for",
        act=images,
        mend=BUILD,
        means="a run builds what is missing first, and fails where it cannot",
        after=("engine",),
    ),
    Examination(
        word="left_behind",
        does="containers, volumes and networks that carry the label of a dead run are listed",
        act=left_behind,
        mend="chaoskafka heal",
        otherwise=State.WARNING,
        means="memory, disk and network addresses are used for nothing",
        after=("engine",),
    ),
)
