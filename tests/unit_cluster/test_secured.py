"""Settings of protected nodes, as tables: which planes, which roles, and what a user cannot set."""

from __future__ import annotations

import pytest

from chaoskafka.cluster import config
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.security import Protection
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.errors import UsageError

HOST = Address("127.0.0.1", 40001)
PROTOCOLS = "listener.security.protocol.map"
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def added(protection: Protection, node_id: int) -> dict[str, str]:
    """What protection changes in the settings of a node."""
    spec = ClusterSpec(controllers=1, brokers=1, security=protection)
    plain = ClusterSpec(controllers=1, brokers=1)
    node = next(member for member in spec.members if member.node_id == node_id)
    host = HOST if node.is_broker else None
    before = config.settings(plain, node, host)
    return {k: v for k, v in config.settings(spec, node, host).items() if before.get(k) != v}


def test_plaintext_changes_nothing() -> None:
    assert added(Protection.PLAINTEXT, 1) == {}


def test_tls_encrypts_the_planes_of_clients_only() -> None:
    assert added(Protection.TLS, 1) == {
        PROTOCOLS: "CLIENTS:SSL,CONTROLLER:PLAINTEXT,REPLICATION:PLAINTEXT,HOST:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/etc/kafka/secrets/node.pem",
    }


def test_scram_adds_users_and_acls() -> None:
    assert added(Protection.SASL_SCRAM, 1) == {
        PROTOCOLS: "CLIENTS:SASL_SSL,CONTROLLER:PLAINTEXT,REPLICATION:PLAINTEXT,HOST:SASL_SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/etc/kafka/secrets/node.pem",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.clients.scram-sha-512.sasl.jaas.config": JAAS,
        "listener.name.host.scram-sha-512.sasl.jaas.config": JAAS,
        "authorizer.class.name": AUTHORIZER,
        "allow.everyone.if.no.acl.found": "false",
        "super.users": "User:ANONYMOUS;User:admin",
    }


def test_a_dedicated_controller_has_the_same_acls_and_no_certificate() -> None:
    assert added(Protection.SASL_SCRAM, 101) == {
        PROTOCOLS: "CLIENTS:SASL_SSL,CONTROLLER:PLAINTEXT,REPLICATION:PLAINTEXT,HOST:SASL_SSL",
        "authorizer.class.name": AUTHORIZER,
        "allow.everyone.if.no.acl.found": "false",
        "super.users": "User:ANONYMOUS;User:admin",
    }


def test_each_setting_can_be_given_to_the_image() -> None:
    spec = ClusterSpec(security=Protection.SASL_SCRAM)
    found = config.environment(spec, spec.members[0], HOST, cluster_id="x")
    assert found["KAFKA_LISTENER_NAME_HOST_SCRAM___SHA___512_SASL_JAAS_CONFIG"] == JAAS


@pytest.mark.parametrize(
    "key",
    [
        PROTOCOLS,
        "super.users",
        "authorizer.class.name",
        "sasl.enabled.mechanisms",
        "ssl.keystore.key",
        "ssl.truststore.location",
        "ssl.key.password",
        "sasl.jaas.config",
        "listener.name.clients.ssl.client.auth",
    ],
)
def test_a_user_sets_neither_what_protects_nor_a_secret(key: str) -> None:
    with pytest.raises(UsageError, match=r"cluster\.config"):
        config.check_config({key: "x"})


def test_a_user_may_choose_versions_and_ciphers() -> None:
    config.check_config({"ssl.enabled.protocols": "TLSv1.2", "ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"})
