"""Sealing: what became of each record, what the reports say, and that nothing is lost on the way."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest
from tape_headers import tape_header

from chaoskafka.history import tables
from chaoskafka.history.header import FORMAT, RunHeader, TopicFacts, WorkloadFacts
from chaoskafka.history.identity import Identity, PayloadState, decode, encode, run_number
from chaoskafka.history.read import History, open_history
from chaoskafka.history.seal import seal
from chaoskafka.history.tables import TopicPartition, WorkerReport
from chaoskafka.history.tape import Change, Kind, Outcome, Transaction
from chaoskafka.history.tape_writer import TapeWriter, segment_path

ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
EXITED = {"code": 0, "signal": None, "out_of_memory": False, "killed_by_us": False}


def place(run_dir: Path, name: str, *, said: object = None, seen: object = EXITED) -> Path:
    directory = run_dir / "ops" / "tapes" / name
    directory.mkdir(parents=True)
    for file, content in (("worker.json", said), ("exit.json", seen)):
        if content is not None:
            (directory / file).write_text(json.dumps(content))
    return directory


def produced(run_dir: Path, *, worker: int = 1, incarnation: int = 0, close: bool = True) -> Path:
    """Four messages to orders/0: acknowledged, acknowledged without offset, refused, failed; and one pending to 1."""
    directory = place(run_dir, f"produce-{worker}" + (f".{incarnation}" if incarnation else ""))
    tape = TapeWriter(directory, tape_header(worker=worker, incarnation=incarnation))
    slots = [tape.begin(Kind.SEND, sequence=i, begin_ns=10 + i, b=200, txn=-1) for i in range(4)]
    tape.begin(Kind.SEND, partition=1, sequence=0, begin_ns=20, b=200, txn=7)
    tape.complete(slots[2], Outcome.REJECTED, end_ns=13, code=-184)
    tape.complete(slots[1], Outcome.ACKNOWLEDGED, end_ns=31)
    tape.complete(slots[0], Outcome.ACKNOWLEDGED, end_ns=30, offset=0, a=5)
    tape.complete(slots[3], Outcome.INDETERMINATE, end_ns=32, code=-192)
    tape.begin(Kind.ERROR, end_ns=33, code=-195, b=0)
    if close:
        tape.close()
    else:
        tape._ahead.shutdown(wait=True)
    return directory


def consumed(run_dir: Path, *, worker: int = 2) -> Path:
    directory = place(run_dir, f"consume-{worker}")
    run, theirs = run_number("run"), Identity(9, 1, 1, -3, 77)
    payloads = [encode(run, theirs, 60), encode(run + 1, theirs, 60), b"hello", encode(run, theirs, 60)[:50], None]
    header = tape_header(worker=worker, role="consume", group="readers")
    with TapeWriter(directory, header) as tape:
        tape.begin(Kind.ASSIGNMENT, partition=0, end_ns=50, b=Change.ASSIGNED)
        poll = tape.begin(Kind.POLL, sequence=0, begin_ns=51)
        for offset, payload in enumerate(payloads):
            state, who = decode(run, payload)
            tape.begin(
                Kind.READ,
                code=state,
                peer=who.producer,
                peer_incarnation=who.incarnation,
                end_ns=60,
                offset=offset,
                a=who.sequence,
                b=-1 if offset else 4,
                peer_place=(who.topic << 32) | (who.partition & 0xFFFFFFFF),
            )
        tape.complete(poll, Outcome.ACKNOWLEDGED, end_ns=60, offset=len(payloads), a=0)
        commit = tape.begin(Kind.COMMIT, begin_ns=61, offset=5, a=-1, txn=-1)
        tape.begin(Kind.COMMIT, topic=1, partition=3, sequence=1, begin_ns=62, offset=8, a=-1, txn=-1)
        tape.complete(commit, Outcome.ACKNOWLEDGED, end_ns=63, offset=5)
        tape.begin(Kind.POLL, sequence=1, begin_ns=64)
        tape.begin(Kind.TRANSACTION, begin_ns=65, b=Transaction.BEGIN, txn=3)
    return directory


def test_each_send_gets_its_fate(tmp_path: Path) -> None:
    produced(tmp_path, worker=3)
    produced(tmp_path, worker=1, incarnation=1)
    produced(tmp_path, worker=1)
    seal(tmp_path)
    sends = History(tmp_path).sends(ORDERS_0)
    assert sends.schema == tables.SEND
    keys = [(1, 0), (1, 1), (3, 0)]
    assert sends.select(tables.SEND_ORDER).rows() == [(*key, i) for key in keys for i in range(4)]
    assert sends.filter(pl.col("producer") == 3).drop("producer", "incarnation").rows() == [
        (0, Outcome.ACKNOWLEDGED, True, 0, 10, 30, 5, 0, None),
        (1, Outcome.ACKNOWLEDGED, True, None, 11, 31, None, 0, None),
        (2, Outcome.REJECTED, True, None, 12, 13, None, -184, None),
        (3, Outcome.INDETERMINATE, True, None, 13, 32, None, -192, None),
    ]
    pending = History(tmp_path).sends(ORDERS_1)
    assert pending.height == 3
    assert pending.drop("producer", "incarnation").row(0) == (
        0,
        Outcome.INDETERMINATE,
        False,
        None,
        20,
        None,
        None,
        0,
        7,
    )


def test_reads_polls_assignments_commits_and_errors(tmp_path: Path) -> None:
    produced(tmp_path)
    consumed(tmp_path)
    seal(tmp_path)
    history = History(tmp_path)
    reads = history.reads(ORDERS_0)
    assert reads.schema == tables.READ
    assert reads.drop("consumer", "consumer_incarnation").rows() == [
        (2, 0, 60, 0, 4, PayloadState.OURS, 9, 1, 77, 1, -3),
        (3, 0, 60, 1, None, PayloadState.OTHER_RUN, 9, 1, 77, None, None),
        (4, 0, 60, 2, None, PayloadState.FOREIGN, 0, 0, -1, None, None),
        (5, 0, 60, 3, None, PayloadState.TORN, 0, 0, -1, None, None),
        (6, 0, 60, 4, None, PayloadState.FOREIGN, 0, 0, -1, None, None),
    ]
    assert history.polls.rows() == [(2, 0, 0, 51, 60, 5, 0), (2, 0, 1, 64, None, None, 0)]
    assert history.assignments.rows() == [(2, 0, 0, Change.ASSIGNED, "orders", 0, 50)]
    assert history.commits.rows() == [
        (2, 0, 7, "orders", 0, 5, 61, 63, Outcome.ACKNOWLEDGED, 0),
        (2, 0, 8, "bills", 3, 8, 62, None, Outcome.INDETERMINATE, 0),
    ]
    assert history.client_errors.rows() == [(1, 0, 5, 33, -195, False)]
    transactions = pl.read_parquet(tmp_path / "ops" / "transaction.parquet")
    assert transactions.schema == tables.TRANSACTION
    assert transactions.rows() == [(2, 0, 3, Transaction.BEGIN, 65, None, Outcome.INDETERMINATE, 0)]


def test_a_closed_worker_counts_for_itself(tmp_path: Path) -> None:
    said = {"offered": 50, "refused": 1, "accepted": 49, "acknowledged": 40, "indeterminate": 9}
    directory = produced(tmp_path)
    closing = {**said, "lag_max_ms": 3.5, "lag_p99_ms": 1.5, "drained": True, "fatal": ["-144: over"], "crash": None}
    (directory / "worker.json").write_text(json.dumps(closing))
    report = seal(tmp_path)[0]
    expected = WorkerReport(
        worker=1, incarnation=0, role="produce", group=None, topics=("orders", "bills"), closed=True, **said,
        lag_max_ms=3.5, lag_p99_ms=1.5, drained=True, fatal=("-144: over",), crash=None, exit_code=0, exit_signal=None,
        killed_by_us=False, out_of_memory=False, tape_whole=True, clock="CLOCK_MONOTONIC:test",
    )  # fmt: skip
    assert report == expected
    assert History(tmp_path).workers == [expected]


@pytest.mark.parametrize("said", [None, {"crash": "Traceback …", "offered": 99, "drained": False}])
def test_of_a_worker_that_did_not_close_the_tape_counts(tmp_path: Path, said: object) -> None:
    directory = produced(tmp_path, close=False)
    if said:
        (directory / "worker.json").write_text(json.dumps(said))
    (directory / "exit.json").write_text(json.dumps({**EXITED, "code": None, "signal": 9, "killed_by_us": True}))
    report = seal(tmp_path)[0]
    counts = (report.offered, report.refused, report.accepted, report.acknowledged, report.indeterminate)
    assert counts == (5, 1, 4, 2, 2)
    assert (report.closed, report.drained, report.exit_signal, report.killed_by_us) == (False, False, 9, True)
    assert report.crash == ("Traceback …" if said else None)
    assert report.tape_whole


def test_sealing_twice_changes_nothing_and_leaves_no_segment(tmp_path: Path) -> None:
    produced(tmp_path, close=False)
    consumed(tmp_path)
    first = seal(tmp_path)
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    assert seal(tmp_path) == first
    assert {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()} == before
    assert not [*tmp_path.rglob("*.tape"), *tmp_path.rglob("*.tape.new"), *tmp_path.rglob("*.partial")]
    assert (tmp_path / "ops" / "tapes" / "produce-1" / "tape.json").exists()


def test_a_seal_that_was_interrupted_is_done_again(tmp_path: Path) -> None:
    produced(tmp_path)
    (tmp_path / "ops" / "send").mkdir()
    (tmp_path / "ops" / "send" / "orders-0.parquet").write_bytes(b"half a table")
    (tmp_path / "ops" / "send" / "orders-1.parquet.partial").write_bytes(b"half a table")
    seal(tmp_path)
    assert History(tmp_path).sends(ORDERS_0).height == 4
    assert History(tmp_path).sends(ORDERS_1).height == 1


def test_a_missing_tape_is_a_report(tmp_path: Path) -> None:
    place(tmp_path, "produce-3.2", seen=None)
    place(tmp_path, "consume-4", seen={**EXITED, "code": 70})
    place(tmp_path, "something")
    reports = {report.worker: report for report in seal(tmp_path)}
    assert set(reports) == {3, 4, -1}
    assert not any(report.tape_whole or report.closed for report in reports.values())
    assert (reports[3].role, reports[3].incarnation, reports[3].exit_code) == ("produce", 2, None)
    assert (reports[4].role, reports[4].exit_code) == ("consume", 70)
    assert reports[-1].role == "something"


def test_a_torn_tape_gives_what_it_has(tmp_path: Path) -> None:
    directory = produced(tmp_path, close=False)
    with segment_path(directory, 0).open("r+b") as segment:
        segment.seek(80)
        segment.write(b"\xff" * 80)
    report = seal(tmp_path)[0]
    assert not report.tape_whole
    assert History(tmp_path).sends(ORDERS_0)["sequence"].to_list() == [0, 2, 3]


def test_without_workers_there_are_no_reports_and_empty_tables(tmp_path: Path) -> None:
    assert seal(tmp_path) == []
    history = History(tmp_path)
    assert history.workers == []
    assert history.polls.schema == tables.POLL
    assert history.polls.is_empty()


def test_the_runs_header_says_which_topic_a_worker_used(tmp_path: Path) -> None:
    produced(tmp_path)
    place(tmp_path, "consume-2")
    facts = {"partitions": 2, "replication_factor": 3, "min_insync_replicas": 2, "topic_id": "x"}
    workload = {"acks": None, "idempotent": None, "rate_per_s": None, "client": "harness"}
    RunHeader(
        format=FORMAT, run_id="run", scenario_name="s", scenario_file=None, scenario={}, seed=1, plan=(), expect=(),
        versions={}, replay="", runtime="docker", clients="client_container", clock="c", wall_minus_monotonic_ns=0,
        nodes={}, topics=(TopicFacts(name="orders", index=0, **facts), TopicFacts(name="bills", index=1, **facts)),
        workloads=(
            WorkloadFacts(word="produce", topic="orders", group=None, workers=(1,), **workload),
            WorkloadFacts(word="consume", topic="bills", group="readers", workers=(2,), **workload),
        ),
    ).save(tmp_path)  # fmt: skip
    reports = seal(tmp_path)
    assert [report.topics for report in reports] == [("orders",), ("bills",)]
    assert [report.group for report in reports] == [None, "readers"]
    assert [asdict(report) for report in open_history(tmp_path).workers] == [asdict(r) for r in seal(tmp_path)]
