"""One package per way of running a cluster, and the table of what each can do."""

from collections.abc import Mapping
from types import MappingProxyType

from chaoskafka.cluster.abilities import (
    CanHostClients,
    CanKill,
    CanPartition,
    CanPause,
    CanPowerOff,
    CanStart,
    CanStop,
)
from chaoskafka.cluster.security import Protection

DEFAULT_RUNTIME = "docker"
ABILITIES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "docker": (CanStart, CanKill, CanStop, CanPause, CanPowerOff, CanPartition, CanHostClients),
        "process": (CanStart, CanKill, CanStop, CanPause, CanPowerOff, CanPartition, CanHostClients),
        "process-plain": (CanStart, CanKill, CanStop, CanPause, CanHostClients),
        "fake": (CanStart, CanKill, CanStop, CanPause, CanPowerOff, CanPartition, CanHostClients),
    }
)
"""By the name of a runtime; its package's folder, but for process-plain, which is process without namespaces.

A scenario that needs more is refused before anything starts. That each runtime's nodes and clusters have just these is
held by a test; docs/runtimes.md shows the table."""

INSTEAD: Mapping[str, str] = MappingProxyType(
    {"process-plain": "it takes --runtime docker, or --runtime process on a machine that allows namespaces"}
)
"""What can play more, for whoever is refused, by the name of a runtime."""

PROTECTIONS: Mapping[str, tuple[Protection, ...]] = MappingProxyType(
    {
        "docker": tuple(Protection),
        "process": tuple(Protection),
        "process-plain": tuple(Protection),
        "fake": (Protection.PLAINTEXT,),
    }
)
"""How clients may connect (`cluster.security`), by the name of a runtime."""
