"""What a fake controller answers to who reads the metadata log: records if it is the active one, else who is.

In: kio's schema and request, as of the version that the fake offers. Out: the answer.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode
from kio.static.primitive import i32, i32Timedelta, i64

from chaoskafka.cluster.wire import asks
from chaoskafka.runtimes.fake.kafka import FakeKafka

WAIT_S = 0.02  # at most, for a record to come: who waits holds up the shutting of its port
_AT_ONCE = i32Timedelta.parse(timedelta(0))


def is_asked(request: Any) -> bool:
    """Whether a FETCH is for the metadata log."""
    return any(topic.topic_id == asks.METADATA_LOG_ID for topic in request.topics)


def fetch_metadata(kafka: FakeKafka, node: int, schema: Any, request: Any) -> Any:
    """FETCH of the metadata log, as `node` answers it."""
    asked = request.topics[0].partitions[0]
    with kafka.now() as control:
        is_up_to_date = control.controller == node and asked.fetch_offset >= control.metadata.end
    if is_up_to_date:
        kafka.wait(WAIT_S)
    with kafka.now() as control:
        log, controller = control.metadata, control.controller
        if asked.current_leader_epoch != log.epoch:
            older = asked.current_leader_epoch < log.epoch
            code = ErrorCode.fenced_leader_epoch if older else ErrorCode.unknown_leader_epoch
        else:
            code = ErrorCode.none if controller == node else ErrorCode.not_leader_or_follower
        partition = schema.PartitionData(
            partition_index=i32(0),
            error_code=code,
            high_watermark=i64(-1 if code else log.end),
            current_leader=schema.LeaderIdAndEpoch(
                leader_id=-1 if controller is None else controller, leader_epoch=i32(log.epoch)
            ),
            aborted_transactions=None,
            records=None if code else log.fetch(asked.fetch_offset, asked.partition_max_bytes),
        )
    return schema.FetchResponse(
        throttle_time=_AT_ONCE,
        error_code=ErrorCode.none,
        responses=(schema.FetchableTopicResponse(topic_id=asks.METADATA_LOG_ID, partitions=(partition,)),),
    )
