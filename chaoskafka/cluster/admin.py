"""Topics and settings, through the administration API of confluent-kafka.

In: addresses and what is wanted. Out: topic ids and effective settings, as text. Every call is bounded; Kafka's errors
become EnvironmentFailure. The one module outside the worker that imports the client library: nothing is judged by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from chaoskafka.clock import Clock, wait_until
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.ready import Readiness, wait_topics
from chaoskafka.cluster.rights import Right
from chaoskafka.cluster.security import PLAINTEXT, Security, User
from chaoskafka.cluster.sights import PartitionView, active_controller, leadership
from chaoskafka.cluster.spec import TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.errors import EnvironmentFailure

R = TypeVar("R")

TOPICS_S = 60.0  # for what is asked of a cluster once it has formed: topics that all brokers know, settings
TIMEOUT_S = 30.0  # of one call; making 50 partitions took under 2 s on a small machine
OFFSETS_TOPIC = "__consumer_offsets"

# What every topic under test gets: nothing may expire or be compacted away before it was audited.
KEEP_ALL = {"retention.ms": "-1", "cleanup.policy": "delete", "unclean.leader.election.enable": "false"}


def spread(spec: TopicSpec, brokers: Sequence[int], controller: int | None) -> list[list[int]]:
    """The replicas of each partition, preferred leader first: leadership goes round the brokers.

    The active controller comes last in the round, so that partition 0 starts on another node where there is one: in a
    combined cluster a scenario can then always hit a leader that is not the active controller. Pure.
    """
    ring = [broker for broker in sorted(brokers) if broker != controller] + [b for b in brokers if b == controller]
    return [
        [ring[(partition + replica) % len(ring)] for replica in range(spec.replication_factor)]
        for partition in range(spec.partitions)
    ]


def topic_config(spec: TopicSpec) -> dict[str, str]:
    """The settings that a topic is made with; the user's own win."""
    return {**KEEP_ALL, "min.insync.replicas": str(spec.min_insync_replicas), **spec.config}


class Administration(Protocol):
    """What a run asks for; every runtime's cluster has one."""

    def create_topics(self, topics: Mapping[str, TopicSpec], placed: Mapping[str, Sequence[Sequence[int]]]) -> None: ...
    def broker_settings(self, brokers: Iterable[int]) -> dict[int, dict[str, str]]: ...
    def allow(self, user: User, rights: Iterable[Right]) -> None: ...


class Admin:
    """Administration of the cluster at `addresses` (any of its brokers)."""

    def __init__(
        self, addresses: Iterable[Address], security: Security = PLAINTEXT, *, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._timeout_s = timeout_s
        self._client = AdminClient(
            {
                "bootstrap.servers": ",".join(map(str, addresses)),
                "client.id": "chaoskafka-admin",
                # librdkafka's own are 30 s and 10 s: one connection that hangs would outlast every call of ours.
                "socket.connection.setup.timeout.ms": 5000,
                "reconnect.backoff.max.ms": 1000,
                "log_level": 0,  # brokers die on purpose here; its complaints would be noise on stderr
                **security.librdkafka(),
            }
        )

    def create_topics(self, topics: Mapping[str, TopicSpec], placed: Mapping[str, Sequence[Sequence[int]]]) -> None:
        """Make topics, each exactly as said; blocks until the controller has made them, not until brokers know.

        `placed`: per topic and partition, its replicas, preferred leader first. A topic that exists counts as made: on
        a busy machine the library repeats a request whose answer came late. Raises EnvironmentFailure.
        """
        new = [
            NewTopic(
                name,
                num_partitions=spec.partitions,
                replica_assignment=[list(replicas) for replicas in placed[name]],
                config=topic_config(spec),
            )
            for name, spec in topics.items()
        ]
        if new:
            limits = {"request_timeout": self._timeout_s, "operation_timeout": self._timeout_s}
            self._finish(
                "create topic",
                lambda: self._client.create_topics(new, **limits),
                ignore=KafkaError.TOPIC_ALREADY_EXISTS,
            )

    def allow(self, user: User, rights: Iterable[Right]) -> None:
        """Give `user` rights; those it has are left alone. Blocks until the controller has noted them, not until
        brokers know. Raises EnvironmentFailure."""
        new = [
            AclBinding(
                ResourceType[right.resource],
                right.name,
                ResourcePatternType.LITERAL,
                f"User:{user}",
                "*",
                AclOperation[right.operation],
                AclPermissionType.ALLOW,
            )
            for right in dict.fromkeys(rights)
        ]
        if new:
            self._finish("allow", lambda: self._client.create_acls(new, request_timeout=self._timeout_s))

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics; one that does not exist is as good as deleted. Blocks. Raises EnvironmentFailure."""
        gone = list(names)
        if gone:
            limits = {"request_timeout": self._timeout_s, "operation_timeout": self._timeout_s}
            self._finish(
                "delete topic",
                lambda: self._client.delete_topics(gone, **limits),
                ignore=KafkaError.UNKNOWN_TOPIC_OR_PART,
            )

    def delete_groups(self, names: Iterable[str]) -> None:
        """Delete consumer groups that nobody is a member of any more; one that does not exist is as good as deleted.

        Blocks. Raises EnvironmentFailure.
        """
        gone = list(names)
        if gone:
            self._finish(
                "delete group",
                lambda: self._client.delete_consumer_groups(gone, request_timeout=self._timeout_s),
                ignore=KafkaError.GROUP_ID_NOT_FOUND,
            )

    def broker_settings(self, brokers: Iterable[int]) -> dict[int, dict[str, str]]:
        """Each broker's effective settings, defaults included, asked of that broker; secrets are left out.

        Blocks. Raises EnvironmentFailure.
        """
        found = self._settings(ResourceType.BROKER, [str(broker) for broker in brokers])
        return {int(broker): settings for broker, settings in found.items()}

    def topic_settings(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Each topic's effective settings, defaults included. Blocks. Raises EnvironmentFailure."""
        return self._settings(ResourceType.TOPIC, list(names))

    def _settings(self, kind: ResourceType, names: list[str]) -> dict[str, dict[str, str]]:
        # One by one: librdkafka sends a request about a broker's settings to that broker, so it takes only one.
        return {name: self._settings_of(ConfigResource(kind, name)) for name in names}

    def _settings_of(self, asked: ConfigResource) -> dict[str, str]:
        answer: dict[Any, Mapping[str, Any]] = self._finish(
            "describe the settings of", lambda: self._client.describe_configs([asked], request_timeout=self._timeout_s)
        )
        (entries,) = answer.values()
        return {key: entry.value for key, entry in entries.items() if entry.value is not None}

    def _finish(
        self, what: str, call: Callable[[], Mapping[Any, Future[R]]], *, ignore: int | None = None
    ) -> dict[Any, R]:
        """Wait for every part of a call. The library's own exceptions become ours, here and nowhere else."""
        done = {}
        try:
            for key, future in call().items():
                try:
                    done[key] = future.result(timeout=self._timeout_s + 5)
                except KafkaException as refused:
                    if refused.args[0].code() != ignore:
                        raise EnvironmentFailure(f"{what} {key}: {refused.args[0].str()}") from refused
                except TimeoutError as late:
                    raise EnvironmentFailure(f"{what} {key}: no answer within {self._timeout_s:.0f} s") from late
        except (KafkaException, ValueError, TypeError) as wrong:
            raise EnvironmentFailure(f"{what}: {wrong}") from wrong
        return done


def topic_ids(readiness: Readiness, names: Iterable[str]) -> dict[str, str]:
    """The ids of topics, as Kafka's tools print them, from the answers of `wait_topics`."""
    current = leadership(readiness.views)
    return {name: next(seen.topic_id for (topic, _), seen in current.items() if topic == name) for name in names}


def make_topics(
    admin: Administration, views: Views, topics: Mapping[str, TopicSpec], *, within_s: float, clock: Clock
) -> dict[str, str]:
    """Create topics, wait until each has full ISR on every broker, and return their ids. Blocks.

    Raises EnvironmentFailure, WaitTimeout (what is missing), and Interrupted by the clock.
    """
    seen = views.ask_all()
    if there := sorted({topic for topic, _ in leadership(seen)} & topics.keys()):
        raise EnvironmentFailure(f"topics exist already, and of unknown history cannot be judged: {', '.join(there)}")
    brokers, controller = sorted(views.addresses), active_controller(seen)
    admin.create_topics(topics, {name: spread(spec, brokers, controller) for name, spec in topics.items()})
    return topic_ids(wait_topics(views, topics, within_s=within_s, clock=clock), topics)


def make_offsets_topic(views: Views, *, within_s: float, clock: Clock, group: str = "chaoskafka") -> int:
    """Make __consumer_offsets exist, with full ISR, before anything is timed; returns its number of partitions. Blocks.

    It is made when a coordinator is first looked for, which would otherwise happen in the middle of the run.
    Raises WaitTimeout (what is missing), and Interrupted by the clock.
    """
    known = wait_until(
        f"a coordinator of group {group}",
        read=lambda: _partitions_of(OFFSETS_TOPIC, views) if views.coordinator(group) is not None else [],
        good=bool,
        within_s=within_s,
        every_s=0.2,
        clock=clock,
    )
    replicas = max(len(seen.replicas) for seen in known)
    size = TopicSpec(partitions=len(known), replication_factor=replicas, min_insync_replicas=1)
    wait_topics(views, {OFFSETS_TOPIC: size}, within_s=within_s, clock=clock)
    return size.partitions


def _partitions_of(name: str, views: Views) -> list[PartitionView]:
    return [seen for (topic, _), seen in leadership(views.ask_all([name])).items() if topic == name]
