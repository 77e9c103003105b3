"""What a fake broker answers to each question that we put to brokers, in Kafka's own protocol.

In: a request frame's body. Out: the answer's. One version of each API is offered, the newest that `wire.asks` knows.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from kio.schema.errors import ErrorCode
from kio.schema.request_header.v2.header import RequestHeader
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64

from chaoskafka.cluster import moves
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.sights import Partition
from chaoskafka.cluster.wire import asks
from chaoskafka.runtimes.fake import internal, moving, quorum
from chaoskafka.runtimes.fake.control import Control, Place
from chaoskafka.runtimes.fake.kafka import FakeKafka

APIS = (
    asks.API_VERSIONS,
    asks.METADATA,
    asks.DESCRIBE_CLUSTER,
    asks.DESCRIBE_QUORUM,
    asks.FIND_COORDINATOR,
    asks.LIST_OFFSETS,
    asks.OFFSET_FOR_LEADER_EPOCH,
    asks.FETCH,
    moves.ELECT_LEADERS,
    moves.ALTER_PARTITION_REASSIGNMENTS,
)
CLUSTER_ID = "chaoskafka-fake"
_TELLS = frozenset({asks.API_VERSIONS, asks.METADATA, asks.DESCRIBE_CLUSTER, asks.DESCRIBE_QUORUM})  # of the cluster
_AT_ONCE = i32Timedelta.parse(timedelta(0))


class Broker:
    """One broker's side of the protocol. Thread-safe, as FakeKafka is."""

    def __init__(self, kafka: FakeKafka, node_id: int, addresses: Mapping[int, Address]) -> None:
        self._kafka, self._node_id, self._addresses = kafka, node_id, addresses
        self._told_of: tuple[object, ...] = ()
        self._told: dict[bytes, bytes] = {}  # the observer asks the same all the time, and encoding takes longest
        self._answers: dict[asks.Api, Callable[[Any, Any], Any]] = {
            asks.API_VERSIONS: self._api_versions,
            asks.METADATA: self._metadata,
            asks.DESCRIBE_CLUSTER: self._describe_cluster,
            asks.DESCRIBE_QUORUM: self._describe_quorum,
            asks.FIND_COORDINATOR: self._find_coordinator,
            asks.LIST_OFFSETS: self._list_offsets,
            asks.OFFSET_FOR_LEADER_EPOCH: self._offset_for_leader_epoch,
            asks.FETCH: self._fetch,
            moves.ELECT_LEADERS: partial(moving.elect_leaders, kafka),
            moves.ALTER_PARTITION_REASSIGNMENTS: partial(moving.reassign, kafka),
        }

    def answer(self, body: bytes) -> bytes:
        """Raises ValueError for what is none of our questions."""
        header, at = entity_reader(RequestHeader)(body, 0)
        api = next((api for api in APIS if api.key == header.request_api_key), None)
        if api is None or header.request_api_version != api.versions[-1]:
            raise ValueError(f"API {header.request_api_key} v{header.request_api_version} is not offered")
        return body[4:8] + self._rest(api, body, at)

    def _rest(self, api: asks.Api, body: bytes, at: int) -> bytes:
        """An answer without its correlation id: the one that was given to this question before, if nothing changed."""
        if api not in _TELLS:
            return self._worked_out(api, body, at)
        question = body[:4] + body[8:]
        with self._kafka.now() as control:
            if control.state != self._told_of:
                self._told_of, self._told = control.state, {}
            if question not in self._told:
                self._told[question] = self._worked_out(api, body, at)
            return self._told[question]

    def _worked_out(self, api: asks.Api, body: bytes, at: int) -> bytes:
        version = api.versions[-1]
        asked_type = getattr(api.schema(version, "request"), _name(api, "Request"))
        request, _ = entity_reader(asked_type)(body, at)
        answer = self._answers[api](api.schema(version, "response"), request)
        out = io.BytesIO()
        head = answer.__header_schema__
        entity_writer(head)(out, head(correlation_id=i32(0)))
        entity_writer(type(answer))(out, answer)
        return out.getvalue()[4:]

    def _api_versions(self, schema: Any, _: Any) -> Any:
        with self._kafka.now() as control:
            applied = control.metadata.end - 1
        return schema.ApiVersionsResponse(
            error_code=ErrorCode.none,
            api_keys=tuple(
                schema.ApiVersion(
                    api_key=i16(api.key), min_version=i16(api.versions[-1]), max_version=i16(api.versions[-1])
                )
                for api in APIS
            ),
            throttle_time=_AT_ONCE,
            finalized_features_epoch=i64(applied),
        )

    def _metadata(self, schema: Any, request: Any) -> Any:
        with self._kafka.now() as control:
            known = dict.fromkeys(topic for topic, _ in control.places)
            asked = known if request.topics is None else [t.name for t in request.topics if t.name in known]
            topics = tuple(_topic(schema, control, name) for name in asked)
        return schema.MetadataResponse(
            throttle_time=_AT_ONCE,
            brokers=tuple(
                schema.MetadataResponseBroker(node_id=broker, host=at.host, port=i32(at.port))
                for broker, at in self._addresses.items()
            ),
            cluster_id=CLUSTER_ID,
            topics=topics,
            error_code=ErrorCode.none,
        )

    def _describe_cluster(self, schema: Any, _: Any) -> Any:
        with self._kafka.now() as control:
            fenced = control.fenced
        return schema.DescribeClusterResponse(
            throttle_time=_AT_ONCE,
            error_code=ErrorCode.none,
            cluster_id=CLUSTER_ID,
            brokers=tuple(
                schema.DescribeClusterBroker(
                    broker_id=broker, host=at.host, port=i32(at.port), is_fenced=fenced[broker]
                )
                for broker, at in self._addresses.items()
            ),
            endpoint_type=i8(1),
        )

    def _describe_quorum(self, schema: Any, _: Any) -> Any:
        with self._kafka.now() as control:
            controller, epoch, end = control.controller, control.metadata.epoch, control.metadata.end
            voters = {voter: end if control.is_up(voter) else -1 for voter in control.voters}
        partition = schema.PartitionData(
            partition_index=i32(0),
            error_code=ErrorCode.none if controller is not None else ErrorCode.broker_not_available,
            error_message=None,
            leader_id=-1 if controller is None else controller,
            leader_epoch=i32(epoch),
            high_watermark=i64(end),
            current_voters=tuple(
                schema.ReplicaState(replica_id=voter, replica_directory_id=None, log_end_offset=i64(reached))
                for voter, reached in voters.items()
            ),
            observers=(),
        )
        topic = schema.TopicData(topic_name=asks.METADATA_LOG, partitions=(partition,))
        return schema.DescribeQuorumResponse(error_code=ErrorCode.none, error_message=None, topics=(topic,), nodes=())

    def _find_coordinator(self, schema: Any, request: Any) -> Any:
        return schema.FindCoordinatorResponse(
            throttle_time=_AT_ONCE,
            coordinators=tuple(self._coordinator(schema, key, request.key_type) for key in request.coordinator_keys),
        )

    def _coordinator(self, schema: Any, key: str, kind: int) -> Any:
        node = self._kafka.coordinator(key, internal.TRANSACTIONS if kind == asks.TRANSACTION else internal.OFFSETS)
        at = self._addresses.get(-1 if node is None else node, Address("", -1))
        return schema.Coordinator(
            key=key,
            node_id=-1 if node is None else node,
            host=at.host,
            port=i32(at.port),
            error_code=ErrorCode.coordinator_not_available if node is None else ErrorCode.none,
            error_message=None,
        )

    def _list_offsets(self, schema: Any, request: Any) -> Any:
        def answered(asked: Any, place: Place) -> dict[str, Any]:
            return {"offset": i64(place.log.end if asked.timestamp == asks.LATEST else 0)}

        return schema.ListOffsetsResponse(
            throttle_time=_AT_ONCE,
            topics=tuple(
                schema.ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=tuple(
                        schema.ListOffsetsPartitionResponse(partition_index=asked.partition_index, **fields)
                        for asked in topic.partitions
                        for fields in self._as_leader((topic.name, asked.partition_index), asked, answered)
                    ),
                )
                for topic in request.topics
            ),
        )

    def _offset_for_leader_epoch(self, schema: Any, request: Any) -> Any:
        def answered(_: Any, place: Place) -> dict[str, Any]:
            return {"leader_epoch": i32(place.epoch), "end_offset": i64(place.log.end)}

        return schema.OffsetForLeaderEpochResponse(
            throttle_time=_AT_ONCE,
            topics=tuple(
                schema.OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=tuple(
                        schema.EpochEndOffset(partition=asked.partition, **fields)
                        for asked in topic.partitions
                        for fields in self._as_leader((topic.topic, asked.partition), asked, answered)
                    ),
                )
                for topic in request.topics
            ),
        )

    def _fetch(self, schema: Any, request: Any) -> Any:
        def answered(asked: Any, place: Place) -> dict[str, Any]:
            return {
                "high_watermark": i64(place.log.end),
                "records": place.log.fetch(asked.fetch_offset, asked.partition_max_bytes),
            }

        if quorum.is_asked(request):
            return quorum.fetch_metadata(self._kafka, self._node_id, schema, request)
        with self._kafka.now() as control:
            names = {place.topic_id: topic for (topic, _), place in control.places.items()}
        return schema.FetchResponse(
            throttle_time=_AT_ONCE,
            error_code=ErrorCode.none,
            responses=tuple(
                schema.FetchableTopicResponse(
                    topic_id=topic.topic_id,
                    partitions=tuple(
                        schema.PartitionData(
                            partition_index=asked.partition,
                            aborted_transactions=None,
                            **{"high_watermark": i64(-1), "records": None, **fields},
                        )
                        for asked in topic.partitions
                        for fields in self._as_leader((names.get(topic.topic_id), asked.partition), asked, answered)
                    ),
                )
                for topic in request.topics
            ),
        )

    def _as_leader(
        self, partition: Any, asked: Any, answered: Callable[[Any, Place], dict[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        """One answer, or the error of a broker that does not lead, or not in the epoch that the other believes in."""
        with self._kafka.now() as control:
            place = control.places.get(partition)
            if place is None:
                yield {"error_code": ErrorCode.unknown_topic_or_partition}
            elif place.leader != self._node_id:
                yield {"error_code": ErrorCode.not_leader_or_follower}
            elif asked.current_leader_epoch != place.epoch:
                older = asked.current_leader_epoch < place.epoch
                yield {"error_code": ErrorCode.fenced_leader_epoch if older else ErrorCode.unknown_leader_epoch}
            else:
                yield {"error_code": ErrorCode.none, **answered(asked, place)}


def _topic(schema: Any, control: Control, name: str) -> Any:
    places: dict[Partition, Place] = {at: place for at, place in control.places.items() if at[0] == name}
    return schema.MetadataResponseTopic(
        error_code=ErrorCode.none,
        name=name,
        topic_id=next(iter(places.values())).topic_id,
        is_internal=name in internal.TOPICS,
        partitions=tuple(
            schema.MetadataResponsePartition(
                error_code=ErrorCode.none,
                partition_index=i32(number),
                leader_id=place.leader,
                leader_epoch=i32(place.epoch),
                replica_nodes=place.replicas,
                isr_nodes=place.isr,
                offline_replicas=tuple(node for node in place.replicas if control.fenced[node]),
            )
            for (_, number), place in places.items()
        ),
    )


def _name(api: asks.Api, part: str) -> str:
    return "".join(word.capitalize() for word in api.module.split("_")) + part
