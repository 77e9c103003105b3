"""Which Kafka versions are supported and what differs between them: the only place that compares versions.

In goes a version as written in a scenario (`4.2.0`); out come the facts that the rest of the harness asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from chaoskafka.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaVersion:
    """What is particular to one version of Kafka."""

    name: str
    eligible_leader_replicas: bool  # on by default in a freshly formatted cluster (KIP-966: from 4.1)
    dump_log_class: str  # main class that prints log segments; it moved in 4.3


SUPPORTED: Mapping[str, KafkaVersion] = MappingProxyType(
    {
        version.name: version
        for version in (
            KafkaVersion(name="4.2.0", eligible_leader_replicas=True, dump_log_class="kafka.tools.DumpLogSegments"),
        )
    }
)


def kafka_version(name: str) -> KafkaVersion:
    """The facts of one version. Raises UsageError, naming what is supported."""
    if name not in SUPPORTED:
        raise UsageError(f"cluster.kafka: {name!r} is not supported; supported are {', '.join(SUPPORTED)}")
    return SUPPORTED[name]
