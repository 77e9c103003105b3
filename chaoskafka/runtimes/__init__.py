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
        "fake": (CanStart, CanKill, CanStop, CanPause, CanPowerOff, CanPartition, CanHostClients),
    }
)
"""By the name of a runtime; its package's folder. A scenario that needs more is refused before anything starts. That
each runtime's nodes and clusters have just these is held by a test; docs/runtimes.md shows the table."""

PROTECTIONS: Mapping[str, tuple[Protection, ...]] = MappingProxyType(
    {"docker": tuple(Protection), "process": tuple(Protection), "fake": (Protection.PLAINTEXT,)}
)
"""How clients may connect (`cluster.security`), by the name of a runtime."""
