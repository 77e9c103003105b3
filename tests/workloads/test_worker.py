"""The worker as a process, against librdkafka's mock cluster: it ends truthfully however it is ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cases import consume_arguments, produce_arguments
from confluent_kafka import Producer

from chaoskafka.clock import wait_until
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.read import History
from chaoskafka.history.seal import seal
from chaoskafka.history.tables import TopicPartition, WorkerReport
from chaoskafka.history.tape import Change, Outcome
from chaoskafka.history.tape_reader import read_tape
from chaoskafka.workloads.worker.arguments import WorkerArguments
from chaoskafka.workloads.worker.report import EXIT_CRASH, EXIT_HANG

pytestmark = pytest.mark.slow

LONG_S = 60.0  # for anything that takes seconds on a quiet machine


class Worker:
    """One worker process, in the place where the seal looks for it."""

    def __init__(self, run_dir: Path, arguments: WorkerArguments) -> None:
        self.directory = run_dir / "ops" / "tapes" / arguments.name
        self.directory.mkdir(parents=True)
        self._stdout = self.directory / "stdout.log"
        with self._stdout.open("w") as out, (self.directory / "stderr.log").open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, *arguments.argv[1:]],
                env={**os.environ, "CHAOSKAFKA_DIR": str(self.directory)},
                stdout=out,
                stderr=err,
            )

    def status(self) -> dict[str, Any]:
        lines = self._stdout.read_text().splitlines()
        return json.loads(lines[-1]) if lines else {}

    def wait_for(self, what: str, good: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        return wait_until(what, read=self.status, good=lambda line: bool(line and good(line)), within_s=LONG_S)

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=LONG_S)
        seen = {"code": code if code >= 0 else None, "signal": -code if code < 0 else None}
        self.tell({**seen, "out_of_memory": False, "killed_by_us": code < 0})
        return code

    def tell(self, seen: dict[str, object]) -> None:
        (self.directory / "exit.json").write_text(json.dumps(seen))

    @property
    def stderr(self) -> str:
        return (self.directory / "stderr.log").read_text()


Start = Callable[[WorkerArguments], Worker]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    workers: list[Worker] = []

    def starting(arguments: WorkerArguments) -> Worker:
        workers.append(Worker(tmp_path, arguments))
        return workers[-1]

    yield starting
    for worker in workers:
        worker.process.kill()
        worker.process.wait(timeout=LONG_S)


@pytest.fixture
def topic() -> dict[str, Any]:
    """A topic and a group that no other test has."""
    name = f"t-{uuid.uuid4().hex[:12]}"
    return {"topic": name, "topics": (name,)}


def acknowledged_everywhere(line: dict[str, Any]) -> bool:
    return all(line["acked_per_partition"].values())


def sends(run_dir: Path, topic: dict[str, Any]) -> pl.DataFrame:
    history = History(run_dir)
    return pl.concat([history.sends(TopicPartition(topic["topic"], p)) for p in range(4)])


def make(topic: str, bootstrap: str) -> None:
    """A topic comes into being when it is named. A consumer that is there before looks again only seconds later."""
    Producer({"bootstrap.servers": bootstrap}).list_topics(topic, timeout=LONG_S)


def test_produced_read_and_committed(tmp_path: Path, start: Start, mock_bootstrap: str, topic: dict[str, Any]) -> None:
    make(topic["topic"], mock_bootstrap)
    producer = start(produce_arguments(mock_bootstrap, **topic))
    settings = {**consume_arguments(mock_bootstrap).settings, "group.id": topic["topic"]}
    consumer = start(consume_arguments(mock_bootstrap, settings=settings, **topic))
    producer.wait_for("acknowledgements", acknowledged_everywhere)
    consumer.wait_for("reads", lambda line: len(line["positions"]) == 4)
    assert producer.end() == 0
    acknowledged = producer.status()["acked_per_partition"]
    consumer.wait_for("the end", lambda line: line["positions"] == acknowledged)
    assert consumer.end() == 0
    assert (producer.status()["state"], consumer.status()["state"]) == ("closed", "closed")

    made, taken = seal(tmp_path)
    assert made.closed
    assert made.drained
    assert made.tape_whole
    assert (made.fatal, made.crash) == ((), None)
    assert made.offered == made.acknowledged == sum(acknowledged.values())
    assert taken.closed
    assert taken.drained
    assert taken.tape_whole
    sent = sends(tmp_path, topic)
    assert sent["outcome"].unique().to_list() == [Outcome.ACKNOWLEDGED]
    assert (sent["latency_ns"] > 0).all()
    assert (sent["completed_ns"] > sent["invoked_ns"]).all()
    history = History(tmp_path)
    for number in range(4):
        partition = TopicPartition(topic["topic"], number)
        written = history.sends(partition).sort("offset").select("offset", "producer", "incarnation", "sequence")
        reads = history.reads(partition)
        assert reads.select("offset", "producer", "incarnation", "sequence").rows() == written.rows()
        assert reads["state"].unique().to_list() == [PayloadState.OURS]
        assert reads["sent_partition"].unique().to_list() == [number]
        commits = history.commits.filter((pl.col("partition") == number) & (pl.col("outcome") == Outcome.ACKNOWLEDGED))
        assert commits["offset"].max() == written.height
    assert set(history.assignments["change"]) == {Change.ASSIGNED, Change.REVOKED}


def test_killed_in_the_middle_the_tape_is_readable_and_pending_is_indeterminate(
    tmp_path: Path, start: Start, mock_bootstrap: str, topic: dict[str, Any]
) -> None:
    # A long linger leaves messages waiting in the client at any instant.
    settings = {**produce_arguments(mock_bootstrap).settings, "linger.ms": "300"}
    worker = start(produce_arguments(mock_bootstrap, settings=settings, rate_per_s=2000.0, **topic))
    worker.wait_for("acknowledgements", acknowledged_everywhere)
    assert worker.end(signal.SIGKILL) == -signal.SIGKILL
    (report,) = seal(tmp_path)
    assert report.tape_whole
    assert not report.closed
    assert (report.exit_signal, report.killed_by_us) == (signal.SIGKILL, True)
    sent = sends(tmp_path, topic)
    pending = sent.filter(~pl.col("completed"))
    assert pending.height > 0
    assert pending["outcome"].unique().to_list() == [Outcome.INDETERMINATE]
    assert report.offered == sent.height
    assert report.indeterminate == pending.height
    assert report.acknowledged == sent.height - pending.height > 0


def test_without_a_cluster_the_schedule_goes_on_and_nothing_is_claimed(tmp_path: Path, start: Start) -> None:
    worker = start(produce_arguments("127.0.0.1:1", drain_s=0.3, rate_per_s=2000.0))
    worker.wait_for("messages", lambda line: line["offered"] > 400)
    assert worker.end() == 0
    (report,) = seal(tmp_path)
    assert report.closed
    assert not report.drained
    assert report.acknowledged == 0
    assert report.offered == report.accepted == report.indeterminate > 400
    assert report.tape_whole
    assert not History(tmp_path).client_errors.is_empty()


def test_messages_that_the_client_gives_up_are_indeterminate_with_their_code(tmp_path: Path, start: Start) -> None:
    settings = {"bootstrap.servers": "127.0.0.1:1", "acks": "all", "message.timeout.ms": "200"}
    worker = start(produce_arguments(settings=settings, drain_s=0.1))
    worker.wait_for("a message that timed out", lambda line: line["indeterminate"] > 0)
    worker.end()
    seal(tmp_path)
    timed_out = History(tmp_path).sends(TopicPartition("orders", 0)).filter(pl.col("code") == -192)  # _MSG_TIMED_OUT
    assert timed_out.height > 0
    assert set(timed_out["outcome"]) == {Outcome.INDETERMINATE}
    assert timed_out["completed"].all()


def test_a_full_queue_refuses(tmp_path: Path, start: Start) -> None:
    settings = {"bootstrap.servers": "127.0.0.1:1", "acks": "all", "queue.buffering.max.messages": "5"}
    worker = start(produce_arguments(settings=settings, drain_s=0.1))
    worker.wait_for("a refusal", lambda line: line["refused"] > 10)
    worker.end()
    (report,) = seal(tmp_path)
    assert report.refused > 10
    assert report.accepted == report.indeterminate == 4 * 5
    refused = History(tmp_path).sends(TopicPartition("orders", 0)).filter(pl.col("outcome") == Outcome.REJECTED)
    assert set(refused["code"]) == {-184}  # _QUEUE_FULL


def test_our_own_crash_is_told(tmp_path: Path, start: Start) -> None:
    worker = start(produce_arguments(settings={"no.such.setting": "1"}))
    assert worker.process.wait(timeout=LONG_S) == EXIT_CRASH
    worker.tell({"code": EXIT_CRASH, "signal": None, "out_of_memory": False, "killed_by_us": False})
    (report,) = seal(tmp_path)
    assert report.crash is not None
    assert "no.such.setting" in report.crash
    assert not report.closed
    assert report.exit_code == EXIT_CRASH
    assert report.tape_whole
    assert "no.such.setting" in worker.stderr


def test_a_worker_does_not_write_over_a_tape(start: Start, tmp_path: Path) -> None:
    arguments = produce_arguments()
    worker = start(arguments)
    worker.wait_for("messages", lambda line: line["offered"] > 0)
    again = subprocess.run(
        [sys.executable, *arguments.argv[1:]],
        env={**os.environ, "CHAOSKAFKA_DIR": str(worker.directory)},
        capture_output=True,
        timeout=LONG_S,
        check=False,
    )
    assert again.returncode == EXIT_CRASH
    worker.end(signal.SIGKILL)
    assert read_tape(worker.directory).whole


@pytest.mark.parametrize("argument", ["{}", "/no/such/file"])
def test_arguments_that_are_none_end_at_once(argument: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "chaoskafka.workloads.worker", argument],
        capture_output=True,
        timeout=LONG_S,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr


HANG = """
import sys
from chaoskafka.workloads.worker.stopping import SignalStop, hang_guard
with hang_guard(0.2, 75):
    SignalStop().pause(600)
"""


def test_a_hang_is_left_by_force() -> None:
    assert subprocess.run([sys.executable, "-c", HANG], timeout=LONG_S, check=False).returncode == EXIT_HANG


IMPORTS = """
import sys
import chaoskafka.workloads.worker.__main__
print(sorted({name.partition(".")[0] for name in sys.modules} & {FORBIDDEN}))
"""
FORBIDDEN = {"polars", "docker", "testcontainers", "cattrs", "typer", "rich", "kio", "yaml"}


def test_the_worker_needs_little() -> None:
    """A client place has the client library, NumPy and tenacity, not the harness's own."""
    code = IMPORTS.replace("{FORBIDDEN}", repr(FORBIDDEN))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG_S, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_report_is_a_worker_report(tmp_path: Path, start: Start, mock_bootstrap: str) -> None:
    worker = start(consume_arguments(mock_bootstrap))
    worker.wait_for("a first line", lambda line: line["state"] == "running")
    worker.end()
    assert [type(report) for report in seal(tmp_path)] == [WorkerReport]
