"""A Kafka to talk to without Docker: the mock cluster inside librdkafka, real sockets and protocol, four partitions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer


@pytest.fixture(scope="session")
def mock_bootstrap() -> Iterator[str]:
    """Bootstrap servers of three mock brokers; a topic comes into being, with four partitions, when it is named."""
    owner = Producer({"test.mock.num.brokers": "3", "log_level": "0"})
    brokers = owner.list_topics(timeout=10).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    owner.close()
