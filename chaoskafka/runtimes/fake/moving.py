"""What a fake broker answers when it is asked to move leadership.

In: kio's schema and request, as of the version that the fake offers. Out: the answer; what was asked for has happened.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta

from chaoskafka.runtimes.fake.kafka import FakeKafka

_AT_ONCE = i32Timedelta.parse(timedelta(0))


def elect_leaders(kafka: FakeKafka, schema: Any, request: Any) -> Any:
    """ElectLeaders, of the preferred kind."""

    def result(topic: str, number: int) -> Any:
        with kafka.now() as control:
            place = control.places.get((topic, number))
            done = place is not None and control.elect_preferred(place, time.monotonic_ns())
        code = ErrorCode.none if done else ErrorCode.preferred_leader_not_available
        return schema.PartitionResult(partition_id=number, error_code=code, error_message=None)

    return schema.ElectLeadersResponse(
        throttle_time=_AT_ONCE,
        error_code=ErrorCode.none,
        replica_election_results=tuple(
            schema.ReplicaElectionResult(
                topic=asked.topic,
                partition_result=tuple(result(asked.topic, number) for number in asked.partitions),
            )
            for asked in request.topic_partitions
        ),
    )


def reassign(kafka: FakeKafka, schema: Any, request: Any) -> Any:
    """AlterPartitionReassignments."""

    def response(topic: str, asked: Any) -> Any:
        with kafka.now() as control:
            place = control.places.get((topic, asked.partition_index))
            if place is not None:
                control.reassign(place, tuple(map(int, asked.replicas)), time.monotonic_ns())
        code = ErrorCode.none if place is not None else ErrorCode.unknown_topic_or_partition
        return schema.ReassignablePartitionResponse(
            partition_index=asked.partition_index, error_code=code, error_message=None
        )

    return schema.AlterPartitionReassignmentsResponse(
        throttle_time=_AT_ONCE,
        error_code=ErrorCode.none,
        error_message=None,
        responses=tuple(
            schema.ReassignableTopicResponse(
                name=asked.name, partitions=tuple(response(asked.name, part) for part in asked.partitions)
            )
            for asked in request.topics
        ),
    )
