"""Producing with every message on the tape, against the same client with a callback that only counts.

Ours: the worker as a run starts it. Baseline: a loop that hands over one ready payload again and again. Both as fast as
they can for the same time, each in a process of its own with the same settings and one client per partition, against
librdkafka's own mock cluster in a third process. Figure: acknowledged messages by the whole time of the process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from confluent_kafka import KafkaError, Message, Producer

from benchmarks.measure import Figures, Goal, Series, child, in_pairs, pairs_asked, ratios, report
from chaoskafka.workloads.settings import HARNESS, producer_settings
from chaoskafka.workloads.worker.arguments import PRODUCE, WorkerArguments

RATIO_MIN = 0.75
LAST_S = 10.0  # of one figure: many times what starting and closing take
TOPIC, PARTITIONS = "orders", 4  # what the mock cluster makes when it is first asked
BROKERS = 3
MESSAGE_BYTES = 200  # the default of a scenario
BURST = 200  # messages between two polls; more change nothing
FLAT_OUT_PER_S = 1e9


def main() -> int:
    """Returns the exit code. Takes about three minutes."""
    pairs = pairs_asked(__doc__)
    with mock_cluster() as bootstrap:
        ours, bare = in_pairs(lambda: _recorded(bootstrap), lambda: _counted(bootstrap), pairs)
    rates = ratios(ours, bare, "per_s")
    return report(
        "producing",
        [
            Series(label="recorded", unit="messages/s", samples=[each["per_s"] for each in ours]),
            Series(label="counted", unit="messages/s", samples=[each["per_s"] for each in bare]),
            Series(label="recorded, processor time", unit="us/message", samples=[each["cpu_us"] for each in ours]),
            Series(label="counted, processor time", unit="us/message", samples=[each["cpu_us"] for each in bare]),
            Series(label="ratio", unit="", samples=rates),
        ],
        [Goal(what="recorded to counted", value=median(rates), at_least=RATIO_MIN)],
        packages=("confluent-kafka",),
    )


@contextmanager
def mock_cluster() -> Iterator[str]:
    """librdkafka's, in a process of its own; yields its addresses."""
    command = [sys.executable, "-m", "benchmarks.producing", "mock"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


def mock() -> None:
    """Serve until stdin is closed."""
    producer = Producer({"bootstrap.servers": "replaced", "test.mock.num.brokers": BROKERS})
    brokers = producer.list_topics(TOPIC, timeout=30).brokers.values()
    sys.stdout.write(",".join(f"{broker.host}:{broker.port}" for broker in brokers) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


def _recorded(bootstrap: str) -> Figures:
    """The worker, as a run starts it, in a directory of its own."""
    arguments = WorkerArguments(
        run_id="benchmark",
        worker=1,
        role=PRODUCE,
        topics=(TOPIC,),
        topic=TOPIC,
        partitions=PARTITIONS,
        settings=_settings(bootstrap),
        rate_per_s=FLAT_OUT_PER_S,
        message_bytes=MESSAGE_BYTES,
        acks="all",
        limit_s=LAST_S,
    )
    with tempfile.TemporaryDirectory() as name:
        ended = child(sys.executable, *arguments.argv[1:], env={**os.environ, "CHAOSKAFKA_DIR": name})
        told = json.loads((Path(name) / "worker.json").read_text())
    assert (told["drained"], told["acknowledged"]) == (True, told["offered"]), told
    return {"per_s": told["acknowledged"] / ended.wall_s, "cpu_us": ended.cpu_s / told["acknowledged"] * 1e6}


def _counted(bootstrap: str) -> Figures:
    ended = child(sys.executable, "-m", "benchmarks.producing", "counted", bootstrap)
    acknowledged = int(ended.output)
    return {"per_s": acknowledged / ended.wall_s, "cpu_us": ended.cpu_s / acknowledged * 1e6}


def counted(bootstrap: str) -> int:
    """The documented way: produce, poll, flush. Returns how many were acknowledged."""
    acknowledged = 0

    def count(error: KafkaError | None, _: Message) -> None:
        nonlocal acknowledged
        if error is None:
            acknowledged += 1

    producers = [Producer(_settings(bootstrap)) for _ in range(PARTITIONS)]
    payload, number, end_s = b"x" * MESSAGE_BYTES, 0, time.monotonic() + LAST_S
    while time.monotonic() < end_s:
        for _ in range(BURST):
            partition = number % PARTITIONS
            try:
                producers[partition].produce(TOPIC, payload, partition=partition, on_delivery=count)
            except BufferError:  # full: it goes on after the poll
                break
            number += 1
        for producer in producers:
            producer.poll(0)
    for producer in producers:
        producer.flush()
        producer.close()
    assert acknowledged == number
    return acknowledged


def _settings(bootstrap: str) -> dict[str, str]:
    return {**producer_settings(HARNESS, "all"), "bootstrap.servers": bootstrap}


if __name__ == "__main__":
    if sys.argv[1:2] == ["mock"]:
        mock()
    elif sys.argv[1:2] == ["counted"]:
        sys.stdout.write(f"{counted(sys.argv[2])}\n")
    else:
        sys.exit(main())
