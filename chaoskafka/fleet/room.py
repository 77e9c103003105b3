"""How many runs at once a machine carries. In: scenarios, what there is of memory and cores. Out: whether they fit.

What a run may use counts, not what it happens to use: too many at once and the kernel ends one of them, or cores are so
contended that every interval is wide and the answers are unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.machine import MIB, cores, memory_limit_mib
from chaoskafka.scenario.model import Scenario

BESIDE_NODES_MIB = 1024  # judging takes 300-600 MiB, each worker and the observer about 60
NODES_PER_CORE = 1.5  # three JVMs and their clients keep two cores busy while they start and while they fail over
REHEARSAL_MIB = 512  # one process: the cluster in memory, its clients, the judging


@dataclass(frozen=True, slots=True)
class Room:
    """Memory and cores: what there is, or what is needed."""

    memory_mib: int
    cores: float

    @classmethod
    def here(cls, meminfo: Path = Path("/proc/meminfo")) -> Self:
        """What this machine, or the container that this process is in, has to spare now."""
        available = next(
            (int(line.split()[1]) // 1024 for line in meminfo.read_text().splitlines() if "MemAvailable" in line), 0
        )
        limit = memory_limit_mib()
        return cls(available if limit is None else min(available, limit), cores().usable)

    @classmethod
    def at_engine(cls) -> Self:
        """What the Docker engine's machine has. Blocks for two requests."""
        from chaoskafka.runtimes.docker.engine import connect  # noqa: PLC0415 - of a run on docker only

        try:
            with connect() as engine:
                if engine.is_local:
                    return cls.here()
                return cls(engine.memory_bytes // MIB, float(engine.api.info()["NCPU"]))
        except EnvironmentFailure:  # the first run will say so, better than we can
            return cls.here()

    def carries(self, needed: Self) -> bool:
        return needed.memory_mib <= self.memory_mib and needed.cores <= self.cores + 1e-6  # thirds do not add up

    def __add__(self, other: Room) -> Room:
        return Room(self.memory_mib + other.memory_mib, self.cores + other.cores)

    def __str__(self) -> str:
        return f"{self.memory_mib} MiB of memory and {self.cores:.3g} cores"


def need_of(scenario: Scenario, runtime: str) -> Room:
    """What a run of a scenario may use."""
    if runtime == "fake":
        return Room(REHEARSAL_MIB, 1.0)
    nodes = len(scenario.cluster.members)
    return Room(scenario.cluster.memory_mib * nodes + BESIDE_NODES_MIB, nodes / NODES_PER_CORE)
