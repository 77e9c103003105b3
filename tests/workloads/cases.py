"""What several tests of workloads start from."""

from __future__ import annotations

from chaoskafka.history.header import TopicFacts
from chaoskafka.workloads.worker.arguments import WorkerArguments

MOCK_PARTITIONS = 4  # librdkafka's mock cluster gives that many to every topic
HARNESS_QUICK = {"socket.timeout.ms": "6000", "linger.ms": "5"}


def topic_facts(name: str = "orders", index: int = 0, partitions: int = MOCK_PARTITIONS) -> TopicFacts:
    return TopicFacts(
        name=name,
        index=index,
        topic_id="id",
        partitions=partitions,
        replication_factor=3,
        min_insync_replicas=2,
    )


def produce_arguments(bootstrap: str = "127.0.0.1:1", **changes: object) -> WorkerArguments:
    fields: dict[str, object] = {
        "run_id": "run",
        "worker": 1,
        "role": "produce",
        "topics": ("orders",),
        "topic": "orders",
        "partitions": MOCK_PARTITIONS,
        "settings": {"bootstrap.servers": bootstrap, "acks": "all", **HARNESS_QUICK},
        "rate_per_s": 400.0,
        "message_bytes": 60,
        "acks": "all",
        "segment_bytes": 80 * 100,
    }
    return WorkerArguments(**{**fields, **changes})  # type: ignore[arg-type]


def consume_arguments(bootstrap: str = "127.0.0.1:1", **changes: object) -> WorkerArguments:
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "readers",
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
    }
    fields: dict[str, object] = {
        "run_id": "run",
        "worker": 2,
        "role": "consume",
        "topics": ("orders",),
        "topic": "orders",
        "partitions": MOCK_PARTITIONS,
        "settings": settings,
        "group": "readers",
        "commit_every_s": 0.2,
        "segment_bytes": 80 * 100,
    }
    return WorkerArguments(**{**fields, **changes})  # type: ignore[arg-type]
