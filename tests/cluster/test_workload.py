"""Producers and a group against real brokers: every acknowledged message is where it was said to be."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import polars as pl
import pytest

from chaoskafka.audit.whole import audit
from chaoskafka.clock import NS_PER_S, MonotonicClock, wait_until
from chaoskafka.cluster.abilities import CanHostClients, CanKill, ClientProcess, Cluster, ExitStatus
from chaoskafka.cluster.admin import Admin, make_offsets_topic, make_topics
from chaoskafka.cluster.ready import wait_recovered
from chaoskafka.cluster.spec import TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.history.header import TopicFacts
from chaoskafka.history.identity import PayloadState, run_number
from chaoskafka.history.read import History
from chaoskafka.history.seal import seal
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.tape import Change, Outcome
from chaoskafka.workloads.consume import Consume
from chaoskafka.workloads.produce import Produce
from chaoskafka.workloads.worker.arguments import WorkerArguments

pytestmark = pytest.mark.docker
CLOCK = MonotonicClock()
LONG_S = 90.0
IDENTITY = ["producer", "incarnation", "sequence"]


@pytest.fixture
def orders(views: Views, admin: Admin) -> TopicFacts:
    """A topic of the test's own: what others wrote would be foreign to it."""
    name = f"worked-{secrets.token_hex(3)}"
    make_offsets_topic(views, within_s=60, clock=CLOCK)
    ids = make_topics(admin, views, {name: TopicSpec(partitions=6)}, within_s=30, clock=CLOCK)
    return TopicFacts(name=name, index=0, topic_id=ids[name], partitions=6, replication_factor=3, min_insync_replicas=2)


@contextmanager
def launched(cluster: Cluster, workers: list[WorkerArguments]) -> Iterator[dict[str, ClientProcess]]:
    assert isinstance(cluster, CanHostClients)
    processes: dict[str, ClientProcess] = {}
    try:
        for worker in workers:
            processes[worker.name] = cluster.launch(worker.name, worker.argv)
        yield processes
    finally:
        for process in processes.values():
            process.kill()


def said(processes: dict[str, ClientProcess], role: str) -> list[dict[str, dict[str, int]]]:
    return [dict(process.latest() or {}) for name, process in processes.items() if name.startswith(role)]


def positions(processes: dict[str, ClientProcess]) -> dict[str, int]:
    furthest: dict[str, int] = {}
    for line in said(processes, "consume"):
        for partition, offset in line.get("positions", {}).items():
            furthest[partition] = max(offset, furthest.get(partition, 0))
    return furthest


def collect(run_dir: Path, name: str, process: ClientProcess, status: ExitStatus, *, killed: bool = False) -> None:
    into = run_dir / "ops" / "tapes" / name
    into.mkdir(parents=True)
    process.collect(into)
    (into / "exit.json").write_text(json.dumps({**asdict(status), "killed_by_us": killed}))


def kill_leader(cluster: Cluster, views: Views, topic: str) -> CanKill:
    leader = views.ask(1).partitions[topic, 0].leader
    node = cluster.nodes[leader]
    assert isinstance(node, CanKill)
    node.kill()
    return node


def test_through_a_killed_leader_every_acknowledged_message_is_where_it_was_said(
    three: Cluster, views: Views, admin: Admin, orders: TopicFacts, tmp_path: Path
) -> None:
    bootstrap = ",".join(map(str, three.client_addresses().values()))
    common = {"run_id": "worked", "topics": [orders], "bootstrap": bootstrap}
    workers = [
        *Produce(topic=orders.name, rate_per_s=300, processes=2).workers(first_worker=1, **common),  # type: ignore[arg-type]
        *Consume(topic=orders.name, processes=2).workers(first_worker=3, **common),  # type: ignore[arg-type]
    ]
    with launched(three, workers) as processes:
        wait_until(
            "acknowledgements and reads of every partition",
            read=lambda: (said(processes, "produce"), positions(processes)),
            good=lambda seen: (
                all(all(line.get("acked_per_partition", {0: 0}).values()) for line in seen[0]) and len(seen[1]) == 6
            ),
            within_s=LONG_S,
        )
        node = kill_leader(three, views, orders.name)
        killed_ns = CLOCK.now_ns()
        try:
            wait_until(
                "acknowledgements of every partition after the failover",
                read=lambda: [line["last_ack_ns"].values() for line in said(processes, "produce")],
                good=lambda lines: all(at_ns > killed_ns + 5 * NS_PER_S for line in lines for at_ns in line),
                within_s=LONG_S,
            )
        finally:
            node.start(within_s=60)
            wait_recovered(views, three.spec, within_s=LONG_S, clock=CLOCK)
        producers = [name for name in processes if name.startswith("produce")]
        for name in producers:
            processes[name].terminate()
        for name in producers:
            collect(tmp_path, name, processes[name], processes[name].wait(within_s=70))
        ends = audit(tmp_path, views, [orders], run=run_number("worked"), within_s=60, clock=CLOCK)
        assert all(end.whole for end in ends), ends
        wanted = {f"{orders.name}/{end.partition}": end.end for end in ends}
        wait_until(
            "the group to read to the end",
            read=lambda: positions(processes),
            good=lambda seen: seen == wanted,
            within_s=LONG_S,
        )
        for name in set(processes) - set(producers):
            processes[name].terminate()
            collect(tmp_path, name, processes[name], processes[name].wait(within_s=70))

    reports = seal(tmp_path)
    assert [report.worker for report in reports] == [1, 2, 3, 4]
    assert all(r.closed and r.drained and r.tape_whole and not r.fatal and r.exit_code == 0 for r in reports), reports
    assert all(r.offered == r.refused + r.accepted for r in reports)
    assert all(r.accepted == r.acknowledged + r.indeterminate for r in reports)
    assert sum(report.acknowledged for report in reports) > 1000
    history = History(tmp_path)
    for number in range(6):
        partition = TopicPartition(orders.name, number)
        acknowledged = history.sends(partition).filter(pl.col("outcome") == Outcome.ACKNOWLEDGED)
        records = history.records(partition)
        assert set(records["state"]) == {PayloadState.OURS}
        found = acknowledged.join(records, on=IDENTITY, how="left", suffix="_audited")
        assert found["offset_audited"].null_count() == 0
        stated = found.filter(pl.col("offset").is_not_null())
        assert stated.filter(pl.col("offset") != pl.col("offset_audited")).is_empty()
        read = history.reads(partition).unique(["offset"])
        assert read.height == records.height
        assert read.join(records, on=["offset", *IDENTITY], how="anti").is_empty()
        commits = history.commits.filter((pl.col("partition") == number) & (pl.col("outcome") == Outcome.ACKNOWLEDGED))
        assert commits["offset"].max() == wanted[str(partition)]
        epochs = read["leader_epoch"]
        assert epochs.null_count() == 0
    assert history.reads(TopicPartition(orders.name, 0))["leader_epoch"].n_unique() > 1


def test_a_worker_killed_in_its_container_leaves_its_tape(three: Cluster, orders: TopicFacts, tmp_path: Path) -> None:
    bootstrap = ",".join(map(str, three.client_addresses().values()))
    (worker,) = Produce(topic=orders.name, rate_per_s=300).workers(
        run_id="killed", first_worker=9, topics=[orders], bootstrap=bootstrap
    )
    with launched(three, [worker]) as processes:
        process = processes[worker.name]
        wait_until(
            "acknowledgements",
            read=process.latest,
            good=lambda line: bool(line and line["acknowledged"] > 300),
            within_s=LONG_S,
        )
        process.kill()
        collect(tmp_path, worker.name, process, process.wait(within_s=30), killed=True)
    (report,) = seal(tmp_path)
    assert (report.tape_whole, report.closed, report.exit_signal) == (True, False, 9)
    assert report.offered == report.acknowledged + report.indeterminate > 300


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_reads_and_commits_by_either_protocol(
    three: Cluster, orders: TopicFacts, tmp_path: Path, protocol: Literal["classic", "consumer"]
) -> None:
    bootstrap = ",".join(map(str, three.client_addresses().values()))
    first = {"classic": 21, "consumer": 31}[protocol]  # the name of a place is used once in a cluster
    common = {"run_id": "either", "topics": [orders], "bootstrap": bootstrap}
    workers = [
        *Produce(topic=orders.name, rate_per_s=60).workers(first_worker=first, **common),  # type: ignore[arg-type]
        *Consume(topic=orders.name, group=f"by-{protocol}", protocol=protocol, commit_every_s=0.2).workers(
            first_worker=first + 1,
            **common,  # type: ignore[arg-type]
        ),
    ]
    with launched(three, workers) as processes:
        wait_until(
            "reads of every partition",
            read=lambda: positions(processes),
            good=lambda seen: len(seen) == 6,
            within_s=LONG_S,
        )
        for name, process in processes.items():
            process.terminate()
            collect(tmp_path, name, process, process.wait(within_s=70))
    reports = seal(tmp_path)
    assert all(r.closed and r.drained and r.tape_whole and not r.fatal and r.exit_code == 0 for r in reports), reports
    history = History(tmp_path)
    assert set(history.assignments["change"]) == {Change.ASSIGNED, Change.REVOKED}
    assert set(history.commits["outcome"]) == {Outcome.ACKNOWLEDGED}
    assert set(history.commits["partition"]) == set(range(6))
