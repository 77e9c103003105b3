"""The environment of a node, as tables: what is set for which role, and who wins."""

import base64

import pytest

from chaoskafka.cluster import config
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec, Timeouts
from chaoskafka.errors import UsageError

HOST = Address("127.0.0.1", 40001)
COMBINED = ClusterSpec(nodes=3)
ISOLATED = ClusterSpec(controllers=1, brokers=2)


def node(spec: ClusterSpec, node_id: int) -> NodeSpec:
    return next(member for member in spec.members if member.node_id == node_id)


def env(spec: ClusterSpec, node_id: int, host: Address | None = HOST) -> dict[str, str]:
    return config.environment(spec, node(spec, node_id), host, cluster_id="4L6g3nShT-eMCtK--X86sw")


def test_a_combined_node_in_full() -> None:
    assert env(COMBINED, 2) == {
        "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
        "KAFKA_ADVERTISED_LISTENERS": "CLIENTS://node-2:9092,REPLICATION://node-2:19092,HOST://127.0.0.1:40001",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
        "KAFKA_AUTO_LEADER_REBALANCE_ENABLE": "false",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@node-1:9093,2@node-2:9093,3@node-3:9093",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "500",
        "KAFKA_HEAP_OPTS": "-Xms100m -Xmx400m",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "REPLICATION",
        "KAFKA_LISTENERS": "CLIENTS://:9092,REPLICATION://:19092,HOST://:9192,CONTROLLER://:9093",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": (
            "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT,REPLICATION:PLAINTEXT,HOST:PLAINTEXT"
        ),
        "KAFKA_LOG4J_LOGGERS": "org.apache.kafka.controller=INFO,state.change.logger=INFO",
        "KAFKA_LOG_DIRS": "/var/lib/kafka/data/log",
        "KAFKA_MIN_INSYNC_REPLICAS": "2",
        "KAFKA_NODE_ID": "2",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "3",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR": "2",
        "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "3",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "2",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "3",
    }


def test_where_names_do_not_resolve_nodes_are_told_by_addresses_and_listen_on_their_own_alone() -> None:
    addresses = {1: "127.9.8.1", 2: "127.9.8.2", 101: "127.9.8.3"}
    broker = config.settings(ISOLATED, node(ISOLATED, 2), Address("127.9.8.2", 9192), addresses=addresses)
    controller = config.settings(ISOLATED, node(ISOLATED, 101), None, addresses=addresses)
    assert broker["controller.quorum.voters"] == controller["controller.quorum.voters"] == "101@127.9.8.3:9093"
    all_of_it = "CLIENTS://127.9.8.2:9092,REPLICATION://127.9.8.2:19092,HOST://127.9.8.2:9192"
    assert broker["advertised.listeners"] == broker["listeners"] == all_of_it
    assert controller["listeners"] == "CONTROLLER://127.9.8.3:9093"


@pytest.mark.parametrize(
    ("node_id", "host", "variable", "expected"),
    [
        (1, HOST, "KAFKA_PROCESS_ROLES", "broker"),
        (1, HOST, "KAFKA_LISTENERS", "CLIENTS://:9092,REPLICATION://:19092,HOST://:9192"),
        (1, HOST, "KAFKA_CONTROLLER_QUORUM_VOTERS", "101@node-101:9093"),
        (1, HOST, "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR", "2"),
        (101, None, "KAFKA_PROCESS_ROLES", "controller"),
        (101, None, "KAFKA_LISTENERS", "CONTROLLER://:9093"),
        (101, None, "KAFKA_CONTROLLER_LISTENER_NAMES", "CONTROLLER"),
        (101, None, "KAFKA_ADVERTISED_LISTENERS", None),
        (101, None, "KAFKA_INTER_BROKER_LISTENER_NAME", None),
    ],
)
def test_isolated_roles(node_id: int, host: Address | None, variable: str, expected: str | None) -> None:
    assert env(ISOLATED, node_id, host).get(variable) == expected


@pytest.mark.parametrize(
    ("brokers", "replicas", "in_sync"), [(1, "1", "1"), (2, "2", "2"), (3, "3", "2"), (5, "3", "2")]
)
def test_internal_topics_fit_the_cluster(brokers: int, replicas: str, in_sync: str) -> None:
    found = config.settings(ClusterSpec(nodes=brokers), node(ClusterSpec(nodes=brokers), 1), HOST)
    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert found[f"{topic}.replication.factor"] == replicas
    assert found["transaction.state.log.min.isr"] == in_sync
    assert found["min.insync.replicas"] == in_sync


def test_default_timeouts_are_kafkas_own() -> None:
    assert not set(config.FAST) & set(config.settings(COMBINED, node(COMBINED, 1), HOST))


def test_fast_timeouts() -> None:
    fast = ClusterSpec(timeouts=Timeouts.FAST)
    found = config.settings(fast, node(fast, 1), HOST)
    assert found["broker.session.timeout.ms"] == "3000"
    assert dict(config.FAST).items() <= found.items()


def test_the_users_settings_win() -> None:
    spec = ClusterSpec(
        timeouts=Timeouts.FAST,
        config={
            "broker.session.timeout.ms": "4000",
            "auto.create.topics.enable": "true",
            "log.segment.bytes": "1048576",
        },
    )
    found = env(spec, 1)
    assert found["KAFKA_BROKER_SESSION_TIMEOUT_MS"] == "4000"
    assert found["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "true"
    assert found["KAFKA_LOG_SEGMENT_BYTES"] == "1048576"


@pytest.mark.parametrize("key", ["node.id", "listeners", "log.dirs", "Log.Dirs", "a b", "", "x__y", "x_.y"])
def test_what_makes_the_cluster_cannot_be_set(key: str) -> None:
    with pytest.raises(UsageError, match=r"cluster\.config"):
        env(ClusterSpec(config={key: "x"}), 1)


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("node.id", "KAFKA_NODE_ID"),
        ("with_underscore.ms", "KAFKA_WITH__UNDERSCORE_MS"),
        ("with-dash.ms", "KAFKA_WITH___DASH_MS"),
    ],
)
def test_variable_names(key: str, variable: str) -> None:
    assert config.variable(key) == variable


def test_cluster_ids_are_kafka_uuids() -> None:
    ids = {config.cluster_id(f"run-{n}") for n in range(500)}
    assert len(ids) == 500
    assert all(len(base64.urlsafe_b64decode(text + "==")) == 16 and not text.startswith("-") for text in ids)
    assert config.cluster_id("run-1") == config.cluster_id("run-1")
