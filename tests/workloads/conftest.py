"""A Kafka to talk to without Docker: the mock cluster inside librdkafka, real sockets and protocol, four partitions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

SERVE = """
import sys
from confluent_kafka import Producer

owner = Producer({"test.mock.num.brokers": "3", "log_level": "0"})
brokers = owner.list_topics(timeout=10).brokers.values()
print(",".join(f"{broker.host}:{broker.port}" for broker in brokers), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def mock_bootstrap() -> Iterator[str]:
    """Bootstrap servers of three mock brokers; a topic comes into being, with four partitions, when it is named.

    They live in a process of their own, which is killed: closing one now and then waits for ever in librdkafka for a
    thread of the mock cluster.
    """
    with subprocess.Popen([sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.kill()
