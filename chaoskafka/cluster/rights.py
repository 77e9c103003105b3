"""Rights: what a user may do to what, as Kafka's ACLs grant it. Pure values; `admin` grants them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ALL = "*"
THE_CLUSTER = "kafka-cluster"  # the one name that a resource of this kind has


class Resource(StrEnum):
    """What a right is on; the names are Kafka's."""

    TOPIC = "TOPIC"
    GROUP = "GROUP"
    TRANSACTIONS = "TRANSACTIONAL_ID"
    CLUSTER = "BROKER"  # as the client library calls it


class Operation(StrEnum):
    """What may be done; each implies DESCRIBE."""

    READ = "READ"
    WRITE = "WRITE"
    DESCRIBE = "DESCRIBE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """One operation on one resource, from any host. `name` may be ALL."""

    resource: Resource
    name: str
    operation: Operation


WATCHING = (
    Right(resource=Resource.TOPIC, name=ALL, operation=Operation.READ),  # Metadata, ListOffsets, Fetch
    Right(resource=Resource.GROUP, name=ALL, operation=Operation.DESCRIBE),  # FindCoordinator
    Right(resource=Resource.TRANSACTIONS, name=ALL, operation=Operation.DESCRIBE),  # FindCoordinator
    Right(resource=Resource.CLUSTER, name=THE_CLUSTER, operation=Operation.DESCRIBE),  # DescribeQuorum
)
"""What the observer, the views and the audit need."""


def writing(topic: str) -> tuple[Right, ...]:
    """What a producer needs; an idempotent one needs no more (KIP-679)."""
    return (Right(resource=Resource.TOPIC, name=topic, operation=Operation.WRITE),)


def reading(topic: str, group: str) -> tuple[Right, ...]:
    """What a member of a group needs."""
    return (
        Right(resource=Resource.TOPIC, name=topic, operation=Operation.READ),
        Right(resource=Resource.GROUP, name=group, operation=Operation.READ),
    )
