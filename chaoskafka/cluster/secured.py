"""Kafka's settings for a protected cluster: what a scenario asks for in, properties of one node out. Pure.

The planes of clients are protected, the cluster's own (replication, controllers) stay plaintext: they are reached from
the run's own network only, and what is on it may do anything.
"""

from __future__ import annotations

from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.security import MECHANISM, Protection, User
from chaoskafka.cluster.spec import NodeSpec

KEYSTORE = "/etc/kafka/secrets/node.pem"
"""Where a broker's container must hold its key and certificate chain."""

CLIENT_PLANES = (Plane.CLIENTS, Plane.HOST)

_PROTOCOLS = {Protection.PLAINTEXT: "PLAINTEXT", Protection.TLS: "SSL", Protection.SASL_SCRAM: "SASL_SSL"}
_JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required;"  # a server's: names no user


def settings(protection: Protection, node: NodeSpec) -> dict[str, str]:
    """What comes to the settings of one node. A plaintext cluster has none of it but the listeners' protocols."""
    protocols = (f"{plane.name}:{_protocol(plane, protection)}" for plane in Plane)
    found = {"listener.security.protocol.map": ",".join(protocols)}
    if protection is Protection.PLAINTEXT:
        return found
    if node.is_broker:
        found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": KEYSTORE}
    if protection is Protection.SASL_SCRAM:
        found |= _users(node)
    return found


def _users(node: NodeSpec) -> dict[str, str]:
    # On controllers too: a broker forwards what changes the cluster, and the controller asks its own authorizer.
    found = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        # ANONYMOUS is who comes through a plaintext plane: the nodes themselves.
        "super.users": f"User:ANONYMOUS;User:{User.ADMIN}",
    }
    if node.is_broker:
        found["sasl.enabled.mechanisms"] = MECHANISM
        for plane in CLIENT_PLANES:
            found[f"listener.name.{plane.name.lower()}.{MECHANISM.lower()}.sasl.jaas.config"] = _JAAS
    return found


def is_ours(key: str) -> bool:
    """Whether a setting is made here, or would carry a secret into the run directory. A user cannot set it."""
    return key in _OURS or key.startswith(_OURS_BELOW) or "password" in key or key.endswith("jaas.config")


_OURS = frozenset(
    {
        "listener.security.protocol.map",
        "authorizer.class.name",
        "allow.everyone.if.no.acl.found",
        "super.users",
        "sasl.enabled.mechanisms",
    }
)
_OURS_BELOW = ("ssl.keystore.", "ssl.truststore.", "listener.name.")


def _protocol(plane: Plane, protection: Protection) -> str:
    return _PROTOCOLS[protection if plane in CLIENT_PLANES else Protection.PLAINTEXT]
