"""The questions that we ask brokers, each with the versions that we know.

Out: an `Ask`, which builds a request at the version that was negotiated and names the type of its answer. A version is
listed here only when the fields that we set and read are the same as in the others; the broker's own range is learnt
from ApiVersions first (KIP-35). Kafka 4.0 to 4.4 speak all of them.
"""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeAlias, TypeVar, cast

import kio.schema.api_versions.v3 as api_versions_v3
import kio.schema.api_versions.v4 as api_versions_v4
import kio.schema.describe_cluster.v2 as describe_cluster_v2
import kio.schema.describe_configs.v4 as describe_configs_v4
import kio.schema.describe_quorum.v1 as describe_quorum_v1
import kio.schema.describe_quorum.v2 as describe_quorum_v2
import kio.schema.fetch.v16 as fetch_v16
import kio.schema.fetch.v17 as fetch_v17
import kio.schema.fetch.v18 as fetch_v18
import kio.schema.find_coordinator.v4 as find_coordinator_v4
import kio.schema.list_offsets.v8 as list_offsets_v8
import kio.schema.list_offsets.v9 as list_offsets_v9
import kio.schema.metadata.v12 as metadata_v12
import kio.schema.metadata.v13 as metadata_v13
import kio.schema.offset_for_leader_epoch.v4 as offset_for_leader_epoch_v4
import kio.schema.sasl_authenticate.v2 as sasl_authenticate_v2
import kio.schema.sasl_handshake.v1 as sasl_handshake_v1
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i32Timedelta, i64

from chaoskafka.errors import NoAnswer

R = TypeVar("R")

ApiVersions: TypeAlias = api_versions_v3.ApiVersionsResponse | api_versions_v4.ApiVersionsResponse
Metadata: TypeAlias = metadata_v12.MetadataResponse | metadata_v13.MetadataResponse
DescribeCluster: TypeAlias = describe_cluster_v2.DescribeClusterResponse
DescribeConfigs: TypeAlias = describe_configs_v4.DescribeConfigsResponse
DescribeQuorum: TypeAlias = describe_quorum_v1.DescribeQuorumResponse | describe_quorum_v2.DescribeQuorumResponse
FindCoordinator: TypeAlias = find_coordinator_v4.FindCoordinatorResponse
ListOffsets: TypeAlias = list_offsets_v8.ListOffsetsResponse | list_offsets_v9.ListOffsetsResponse
OffsetForLeaderEpoch: TypeAlias = offset_for_leader_epoch_v4.OffsetForLeaderEpochResponse
SaslHandshake: TypeAlias = sasl_handshake_v1.SaslHandshakeResponse
SaslAuthenticate: TypeAlias = sasl_authenticate_v2.SaslAuthenticateResponse
Fetch: TypeAlias = fetch_v16.FetchResponse | fetch_v17.FetchResponse
FetchMetadata: TypeAlias = fetch_v17.FetchResponse | fetch_v18.FetchResponse

EARLIEST = -2
LATEST = -1
GROUP, TRANSACTION = 0, 1  # what a coordinator coordinates
NODE = 4  # resource type: a broker or a controller, by its id
METADATA_LOG = "__cluster_metadata"
METADATA_LOG_ID = uuid.UUID(int=1)  # its topic id in every cluster (org.apache.kafka.common.Uuid)
SOFTWARE = "chaoskafka"
KNOWN_FROM = 18  # the version of FETCH that says which high watermark is known already (KIP-1166)


@dataclass(frozen=True, slots=True)
class Api:
    """One of Kafka's APIs: its number, its name in kio, and the versions that we know, lowest first."""

    key: int
    module: str
    versions: tuple[int, ...]

    def schema(self, version: int, part: str) -> Any:
        """kio's module of this version's requests or responses."""
        return importlib.import_module(f"kio.schema.{self.module}.v{version}.{part}")


@dataclass(frozen=True, slots=True)
class Ask(Generic[R]):
    """A question: how to build it at a version, and which type answers it."""

    api: Api
    build: Callable[[Any], Any]  # from kio's request module of the negotiated version

    def request(self, version: int) -> Any:
        """The kio request at that version."""
        return self.build(self.api.schema(version, "request"))

    def answer_type(self, version: int) -> type[R]:
        """kio's type of the answer at that version."""
        name = "".join(word.capitalize() for word in self.api.module.split("_")) + "Response"
        return cast("type[R]", getattr(self.api.schema(version, "response"), name))


API_VERSIONS = Api(18, "api_versions", (3, 4))
METADATA = Api(3, "metadata", (12, 13))
DESCRIBE_CLUSTER = Api(60, "describe_cluster", (2,))
DESCRIBE_CONFIGS = Api(32, "describe_configs", (4,))
DESCRIBE_QUORUM = Api(55, "describe_quorum", (1, 2))
FIND_COORDINATOR = Api(10, "find_coordinator", (4,))
LIST_OFFSETS = Api(2, "list_offsets", (8, 9))
OFFSET_FOR_LEADER_EPOCH = Api(23, "offset_for_leader_epoch", (4,))
SASL_HANDSHAKE = Api(17, "sasl_handshake", (1,))
SASL_AUTHENTICATE = Api(36, "sasl_authenticate", (2,))
FETCH = Api(1, "fetch", (16, 17))
FETCH_METADATA = Api(1, "fetch", (17, 18))  # of controllers; 18 (from Kafka 4.1 on) answers once a commit moves


def choose(api: Api, offered: Mapping[int, tuple[int, int]]) -> int:
    """The highest version that both sides know. `offered`: key -> (lowest, highest), from ApiVersions.

    Raises NoAnswer when there is none.
    """
    lowest, highest = offered.get(api.key, (0, -1))
    for version in reversed(api.versions):
        if lowest <= version <= highest:
            return version
    raise NoAnswer(f"the broker offers {api.module} v{lowest} to v{highest}; we know {list(api.versions)}")


def offered(answer: ApiVersions) -> dict[int, tuple[int, int]]:
    """The versions that a broker offers: key -> (lowest, highest)."""
    return {int(api.api_key): (int(api.min_version), int(api.max_version)) for api in answer.api_keys}


def api_versions() -> Ask[ApiVersions]:
    """What the broker speaks; `finalized_features_epoch` = offset of the last metadata record that it applied."""
    return Ask(
        API_VERSIONS,
        lambda schema: schema.ApiVersionsRequest(client_software_name=SOFTWARE, client_software_version="1"),
    )


def sasl_handshake(mechanism: str) -> Ask[SaslHandshake]:
    """Which SASL mechanism comes next (KIP-43)."""
    return Ask(SASL_HANDSHAKE, lambda schema: schema.SaslHandshakeRequest(mechanism=mechanism))


def sasl_authenticate(message: bytes) -> Ask[SaslAuthenticate]:
    """One message of the mechanism; the answer carries the broker's (KIP-152)."""
    return Ask(SASL_AUTHENTICATE, lambda schema: schema.SaslAuthenticateRequest(auth_bytes=message))


def metadata(topics: Sequence[str] | None) -> Ask[Metadata]:
    """Leaders, epochs, ISR of `topics` (None: all) as this broker knows them. Never creates a topic."""

    def build(schema: Any) -> Any:
        named = None
        if topics is not None:
            named = tuple(schema.MetadataRequestTopic(topic_id=None, name=TopicName(t)) for t in topics)
        return schema.MetadataRequest(
            topics=named, allow_auto_topic_creation=False, include_topic_authorized_operations=False
        )

    return Ask(METADATA, build)


def describe_cluster() -> Ask[DescribeCluster]:
    """The brokers this broker knows, fenced ones too (KIP-1073). Its controller_id is a random broker: never use it."""
    return Ask(
        DESCRIBE_CLUSTER,
        lambda schema: schema.DescribeClusterRequest(
            include_cluster_authorized_operations=False, endpoint_type=i8(1), include_fenced_brokers=True
        ),
    )


def describe_node(node: str) -> Ask[DescribeConfigs]:
    """The effective settings of the broker or controller that is asked, which must be `node`."""

    def build(schema: Any) -> Any:
        resource = schema.DescribeConfigsResource(resource_type=i8(NODE), resource_name=node, configuration_keys=None)
        return schema.DescribeConfigsRequest(resources=(resource,))

    return Ask(DESCRIBE_CONFIGS, build)


def describe_quorum() -> Ask[DescribeQuorum]:
    """The metadata quorum (KIP-595). A broker forwards it to the active controller, and waits while there is none."""

    def build(schema: Any) -> Any:
        partition = schema.PartitionData(partition_index=i32(0))
        topic = schema.TopicData(topic_name=TopicName(METADATA_LOG), partitions=(partition,))
        return schema.DescribeQuorumRequest(topics=(topic,))

    return Ask(DESCRIBE_QUORUM, build)


def find_coordinator(key: str, kind: int = GROUP) -> Ask[FindCoordinator]:
    """Who coordinates a group, or the transactions of an id; makes the topic exist in which that is kept."""
    return Ask(
        FIND_COORDINATOR,
        lambda schema: schema.FindCoordinatorRequest(key_type=i8(kind), coordinator_keys=(key,)),
    )


def list_offsets(topic: str, partitions: Mapping[int, int], which: int) -> Ask[ListOffsets]:
    """EARLIEST or LATEST offset, read_uncommitted, of `partitions`: number -> leader epoch that must be current."""

    def build(schema: Any) -> Any:
        asked = tuple(
            schema.ListOffsetsPartition(
                partition_index=i32(number), current_leader_epoch=i32(epoch), timestamp=i64(which)
            )
            for number, epoch in partitions.items()
        )
        named = schema.ListOffsetsTopic(name=TopicName(topic), partitions=asked)
        return schema.ListOffsetsRequest(replica_id=BrokerId(-1), isolation_level=i8(0), topics=(named,))

    return Ask(LIST_OFFSETS, build)


def offset_for_leader_epoch(topic: str, partitions: Mapping[int, int]) -> Ask[OffsetForLeaderEpoch]:
    """The log end offset, beyond the high watermark too, of `partitions`: number -> current leader epoch (KIP-320)."""

    def build(schema: Any) -> Any:
        asked = tuple(
            schema.OffsetForLeaderPartition(
                partition=i32(number), current_leader_epoch=i32(epoch), leader_epoch=i32(epoch)
            )
            for number, epoch in partitions.items()
        )
        named = schema.OffsetForLeaderTopic(topic=TopicName(topic), partitions=asked)
        return schema.OffsetForLeaderEpochRequest(replica_id=BrokerId(-1), topics=(named,))

    return Ask(OFFSET_FOR_LEADER_EPOCH, build)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFrom:
    """Where to fetch: one partition, from `offset`, of the leader in `leader_epoch`."""

    topic_id: uuid.UUID
    partition: int
    leader_epoch: int
    offset: int
    bytes_max: int
    wait_ms: int = 0


def fetch(place: FetchFrom) -> Ask[Fetch]:
    """Record batches as they lie in the log, read_uncommitted, without a fetch session (KIP-227)."""

    def build(schema: Any) -> Any:
        partition = schema.FetchPartition(
            partition=i32(place.partition),
            current_leader_epoch=i32(place.leader_epoch),
            fetch_offset=i64(place.offset),
            partition_max_bytes=i32(place.bytes_max),
        )
        return _fetch_request(schema, place, place.topic_id, partition)

    return Ask(FETCH, build)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataFrom:
    """Where to read the metadata log on: from `offset`, the record before it being of `last_epoch`, of the leader of
    `epoch`. `high_watermark`: the highest that is known; -1 none."""

    epoch: int
    offset: int
    last_epoch: int
    high_watermark: int
    bytes_max: int
    wait_ms: int


def fetch_metadata(place: MetadataFrom) -> Ask[FetchMetadata]:
    """The metadata log as a controller has it, beyond the high watermark too, read as a consumer would (replica id -1).

    So it leaves no trace at the controllers: they count no such reader (KafkaRaftClient, LeaderState; KIP-595).
    """

    def build(schema: Any) -> Any:
        known = {"high_watermark": i64(place.high_watermark)} if schema.FetchRequest.__version__ >= KNOWN_FROM else {}
        partition = schema.FetchPartition(
            partition=i32(0),
            current_leader_epoch=i32(place.epoch),
            fetch_offset=i64(place.offset),
            last_fetched_epoch=i32(place.last_epoch),
            partition_max_bytes=i32(place.bytes_max),
            **known,
        )
        return _fetch_request(schema, place, METADATA_LOG_ID, partition)

    return Ask(FETCH_METADATA, build)


def _fetch_request(schema: Any, place: FetchFrom | MetadataFrom, topic_id: uuid.UUID, partition: Any) -> Any:
    return schema.FetchRequest(
        max_wait=i32Timedelta.parse(timedelta(milliseconds=place.wait_ms)),
        min_bytes=i32(1),
        max_bytes=i32(place.bytes_max),
        isolation_level=i8(0),
        topics=(schema.FetchTopic(topic_id=topic_id, partitions=(partition,)),),
        forgotten_topics_data=(),
    )
