"""What a run is set up with: its directory, its header, its workers and its limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.scenario.load import load_text
from chaoskafka.scenario.model import Scenario
from chaoskafka.scenario.plan import plan
from chaoskafka.setting import facts_of_topics, first_header, make_run_dir, recovery_limit_s, workers_of

TEXT = """\
topics: {orders: {partitions: 2}, payments: {partitions: 1}}
workloads:
  - produce: {topic: payments, processes: 2, rate_per_s: 10}
  - consume: {topic: payments, processes: 2, client: CLIENT}
plan:
  - {after_s: 0, kill: {target: any, for_s: 8}}
  - {after_s: 0, kill: {target: any, for_s: FOR_S}}
"""


def scenario(*, client: str = "harness", for_s: float = 8) -> Scenario:
    return load_text(TEXT.replace("CLIENT", client).replace("FOR_S", str(for_s)), name="case")


def test_each_run_has_a_directory_of_its_own_and_latest_names_the_newest(tmp_path: Path) -> None:
    first, second = (make_run_dir(tmp_path / "runs", "case", 7) for _ in range(2))
    assert first.run_dir != second.run_dir
    assert first.run_id != second.run_id
    assert first.run_dir.name.split("-")[1] == "7"
    assert (tmp_path / "runs" / "case" / "latest").resolve() == second.run_dir.resolve()
    assert {path.name for path in (tmp_path / "runs" / "case").iterdir()} == {
        first.run_dir.name, second.run_dir.name, "latest",
    }  # fmt: skip


def test_no_run_directory_is_an_environment_at_fault(tmp_path: Path) -> None:
    (tmp_path / "case").write_text("a file")
    with pytest.raises(EnvironmentFailure, match="case"):
        make_run_dir(tmp_path, "case", 7)


def test_the_header_holds_the_plan_before_anything_starts(tmp_path: Path) -> None:
    wanted = scenario()
    header = first_header(wanted, 7, plan(wanted, 7), run_id="r", replay="again", runtime="memory")
    header.save(tmp_path)
    assert header.load(tmp_path) == header
    assert [step["word"] for step in header.plan] == ["kill", "kill"]
    assert (header.runtime, header.topics, header.seed) == ("memory", (), 7)
    assert header.nodes == {str(node): ("broker", "controller") for node in (1, 2, 3)}


def test_workers_are_counted_through_all_workloads() -> None:
    wanted = scenario()
    topics = facts_of_topics(wanted.topics, {"orders": "a", "payments": "b"})
    assert [(t.index, t.name, t.topic_id) for t in topics] == [(0, "orders", "a"), (1, "payments", "b")]
    workers, facts = workers_of(wanted, run_id="r", topics=topics, bootstrap="node-1:9092")
    assert [w.name for w in workers] == ["produce-0", "produce-1", "consume-2", "consume-3"]
    assert [(f.topic, f.workers) for f in facts] == [("payments", (0, 1)), ("payments", (2, 3))]
    assert sum(w.rate_per_s for w in workers) == 10


@pytest.mark.parametrize(
    ("session_ms", "client", "for_s", "limit_s"),
    [
        ("9000", "harness", 8, 15 + 9 + 9 / 8 + 6),  # TCP's retransmission is longer than the fault
        ("9000", "harness", 40, 40 + 9 + 9 / 8 + 6),
        ("3000", "harness", 8, 15 + 3 + 3 / 8 + 6),
        ("3000", "librdkafka_default", 8, 15 + 3 + 3 / 8 + 60),
    ],
)
def test_the_limit_of_recovery_follows_from_settings_and_faults(
    session_ms: str, client: str, for_s: float, limit_s: float
) -> None:
    wanted = scenario(client=client, for_s=for_s)
    topics = facts_of_topics(wanted.topics, {"orders": "a", "payments": "b"})
    _, facts = workers_of(wanted, run_id="r", topics=topics, bootstrap="node-1:9092")
    brokers = {"1": {"broker.session.timeout.ms": "1000"}, "2": {"broker.session.timeout.ms": session_ms}}
    assert recovery_limit_s(brokers, wanted, facts) == pytest.approx(limit_s)
