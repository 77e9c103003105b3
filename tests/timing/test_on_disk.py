"""The metadata log on the controllers' disks against what was read of it live: a real log, told by the same records."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.judge import judged
from chaoskafka.timing.on_disk import lines_on_disk
from chaoskafka.timing.written import log_of, log_troubles
from tests.histories.builder import build
from tests.histories.copy import Copy
from tests.histories.shape import CLOCK, Shape

REAL = Path(__file__).parent.parent / "unit_cluster" / "metadata-4.2.2.log"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Nobody alters this one. Its observer read a real log, as that lies on disk."""
    copy = Copy.at(build(tmp_path_factory.mktemp("built") / "run", Shape(partitions=2)))
    logs = copy.run_dir / "logs"
    logs.mkdir()
    shutil.copy(REAL, logs / "node-1.metadata-log")
    (logs / "node-2.metadata-log").write_bytes(REAL.read_bytes()[:9000])  # a node that fell behind
    (logs / "node-3.metadata-log").write_bytes(REAL.read_bytes()[:300] + b"\x07" * 900)
    tell(copy, [dict(line) for line in lines_on_disk(copy.history)])
    return copy


def tell(copy: Copy, lines: list[dict[str, Any]]) -> None:
    """What the observer read live."""
    started = {"kind": "started", "lo_ns": 0, "hi_ns": 0, "clock": CLOCK}
    path = copy.run_dir / "observations.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [started, *lines]))


@pytest.fixture
def run(built: Copy, tmp_path: Path) -> Copy:
    return built.into(tmp_path / "run")


def told(run: Copy) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.run_dir / "observations.jsonl").read_text().splitlines()[1:]]


def test_the_longest_log_that_can_be_read_is_taken(run: Copy) -> None:
    lines = lines_on_disk(run.history)
    assert {line["kind"] for line in lines} == {"log_leader", "log_broker", "log_partition", "log_feature", "log_noop"}
    assert lines[-1]["offset"] > 300
    assert log_troubles(run.history) == []
    assert log_troubles(History(run.run_dir)) == []


def test_a_record_that_was_read_otherwise_is_told_and_the_disk_believed(run: Copy) -> None:
    lines = told(run)
    change = next(line for line in lines if line["kind"] == "log_partition" and line["epoch"] > 0)
    true_leader = change["leader"]
    change["leader"] = 77
    tell(run, lines)
    (trouble,) = log_troubles(run.history)
    assert f"offset {change['offset']}" in trouble
    rows = [row for rows in log_of(run.history).partitions.values() for row in rows]
    assert 77 not in {row.leader for row in rows}
    assert true_leader in {row.leader for row in rows if row.offset == change["offset"]}
    assert trouble in judged(run.history).troubles


def test_a_record_that_was_missed_is_told(run: Copy) -> None:
    lines = told(run)
    missed = next(line for line in lines if line["kind"] == "log_broker" and line["stopping"])
    tell(run, [line for line in lines if line is not missed])
    (trouble,) = log_troubles(run.history)
    assert "nothing was read live, log_broker" in trouble


def test_what_only_one_of_them_can_have_is_no_difference(run: Copy) -> None:
    """The reader began late and ended early; a node's disk may end before either."""
    tell(run, told(run)[20:-20])
    assert log_troubles(run.history) == []


def test_without_a_log_on_disk_there_is_nothing_to_compare(run: Copy) -> None:
    shutil.rmtree(run.run_dir / "logs")
    assert lines_on_disk(run.history) == []
    assert log_troubles(run.history) == []
    assert log_of(run.history).was_read


def test_what_the_disk_does_not_reach_is_taken_from_what_was_read_live(run: Copy) -> None:
    """A difference elsewhere leaves that the only source of it."""
    lines = told(run)
    next(line for line in lines if line["kind"] == "log_partition" and line["epoch"] > 0)["leader"] = 77
    last = lines[-1]
    place = {"kind": "log_partition", "topic": "late", "partition": 0, "isr": [1], "replicas": [1], "epoch": 1}
    beyond = {key: last[key] for key in ("lo_ns", "hi_ns", "quorum_epoch")}
    beyond |= {"offset": last["offset"] + 2, "last_offset": last["offset"] + 2}
    cut = beyond | {"offset": last["offset"] + 1, "quorum_epoch": last["quorum_epoch"] - 1, "hi_ns": 10**18}
    tell(run, [*lines, place | cut | {"leader": 2}, place | beyond | {"leader": 1, "hi_ns": last["hi_ns"] + 5}])
    assert log_troubles(run.history) != []
    log = log_of(run.history)
    assert [row.leader for row in log.partitions[TopicPartition("late", 0)]] == [1]
    assert log.read_to_ns == last["hi_ns"] + 5
