"""Finds the brokers of a cluster that is not ours. In: bootstrap addresses. Out: every broker, as it is advertised."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.security import Security
from chaoskafka.cluster.wire import asks
from chaoskafka.cluster.wire.connection import connect
from chaoskafka.errors import EnvironmentFailure, NoAnswer

ANSWER_S = 10.0  # a healthy broker answers in milliseconds, one far away in tenths of a second


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A cluster as it tells of itself."""

    cluster_id: str
    brokers: Mapping[int, Address]
    versions: Mapping[str, str]  # for the header of a run


def find(bootstrap: Sequence[Address], security: Security) -> Found:
    """Ask the bootstrap servers, one after the other, until one answers. Blocks.

    Raises EnvironmentFailure: none answers, or a broker is advertised under a name that is not known here.
    """
    refusals = []
    for address in bootstrap:
        try:
            found = _ask(address, security)
        except NoAnswer as silence:
            refusals.append(str(silence))
        else:
            _check_names(found.brokers)
            return found
    raise EnvironmentFailure("no bootstrap server answered: " + "; ".join(refusals))


def _ask(address: Address, security: Security) -> Found:
    connection, versions = connect(address, ANSWER_S, security)
    with connection:
        answer = connection.ask(asks.metadata(()))
    features = {str(each.name): int(each.max_version_level) for each in versions.finalized_features}
    return Found(
        cluster_id=str(answer.cluster_id),
        brokers={int(each.node_id): Address(str(each.host), int(each.port)) for each in answer.brokers},
        versions={f"feature {name}": str(level) for name, level in sorted(features.items())},
    )


def _check_names(brokers: Mapping[int, Address]) -> None:
    for broker, address in brokers.items():
        try:
            socket.getaddrinfo(address.host, address.port)
        except (OSError, UnicodeError) as unknown:
            why = getattr(unknown, "strerror", None) or "no host can have such a name"
            raise EnvironmentFailure(
                f"broker {broker} is advertised as {address}, which is not known here: {why}",
                mend="give --bootstrap an address of the listener whose advertised names are known here",
            ) from unknown
