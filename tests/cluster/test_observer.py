"""The observer in a client place, while a partition leader is killed and comes back."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from chaoskafka.clock import MonotonicClock, clock_id, wait_until
from chaoskafka.cluster.abilities import CanHostClients, CanKill, Cluster
from chaoskafka.cluster.admin import Admin, make_topics
from chaoskafka.cluster.ready import wait_recovered
from chaoskafka.cluster.resolution import Situation
from chaoskafka.cluster.spec import TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.history.observations import OBSERVATION
from chaoskafka.probes.observer import FILE, Arguments

pytestmark = pytest.mark.docker
CLOCK = MonotonicClock()


def test_a_failover_as_intervals(three: Cluster, views: Views, admin: Admin, tmp_path: Path) -> None:
    make_topics(admin, views, {"watched": TopicSpec(partitions=3)}, within_s=120, clock=CLOCK)
    wait_recovered(views, three.spec, within_s=120, clock=CLOCK)
    now = Situation.of(three.spec, views.ask_all())
    number, before = next(
        (p, s) for (t, p), s in now.leadership.items() if t == "watched" and s.leader != now.controller
    )
    victim = three.nodes[before.leader]
    assert isinstance(three, CanHostClients)
    assert isinstance(victim, CanKill)
    argv = Arguments(
        brokers=three.client_addresses(), controllers=three.controller_addresses(), topics=("watched",)
    ).argv()
    observer = three.launch("observer", argv)
    wait_until(
        "all brokers seen", read=observer.latest, good=lambda s: s is not None and s["up"] == [1, 2, 3], within_s=30
    )
    deed = victim.kill()
    wait_until(
        "a new leader",
        read=lambda: views.ask_all(["watched"]),
        good=lambda seen: any(
            v.reachable and v.partitions["watched", number].leader_epoch > before.leader_epoch for v in seen
        ),
        within_s=30,
    )
    back = victim.start(within_s=60)
    whole = wait_recovered(views, three.spec, within_s=180, clock=CLOCK)
    wait_until(
        "one more status",
        read=observer.latest,
        good=lambda s: s is not None and s["at_ns"] > whole.answered_ns,
        within_s=10,
    )
    status = observer.latest()
    observer.terminate()
    assert observer.wait(within_s=20).code == 0
    observer.collect(tmp_path)

    seen = pl.read_ndjson(tmp_path / FILE, schema=OBSERVATION)
    lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert all(set(line) <= set(OBSERVATION) for line in lines)
    assert (lines[0]["kind"], lines[0]["clock"]) == ("started", clock_id())
    assert lines[-1]["kind"] == "stopped"
    assert (seen["lo_ns"] <= seen["hi_ns"]).all()

    # Both survivors name a new leader in a new epoch, after the kill and before they were asked by another path.
    new = seen.filter(
        (pl.col("kind") == "leadership") & (pl.col("partition") == number) & (pl.col("epoch") > before.leader_epoch)
    )
    survivors = set(three.spec.broker_ids) - {before.leader}
    first = {
        b: new.filter((pl.col("broker") == b) & (pl.col("leader") != before.leader)).row(0, named=True)
        for b in survivors
    }
    for row in first.values():
        assert row["leader"] in survivors
        assert deed.acted_ns < row["lo_ns"] < row["hi_ns"] < back.acted_ns + 60e9

    # The victim fell silent at the kill, and answers again after its start.
    reach = seen.filter((pl.col("kind") == "reachable") & (pl.col("broker") == before.leader))
    assert reach["up"].to_list() == [True, False, True]
    down, up = reach.row(1, named=True), reach.row(2, named=True)
    assert down["lo_ns"] <= deed.acted_ns + 20e6
    assert down["hi_ns"] > deed.acted_ns - 1e6
    assert up["hi_ns"] > back.acted_ns
    fenced = seen.filter(
        (pl.col("kind") == "fenced") & (pl.col("broker") == before.leader) & pl.col("by").is_in(survivors)
    )
    assert True in fenced["fenced"].to_list()
    assert seen.filter(pl.col("kind") == "controller").height >= 3
    assert seen.filter(pl.col("kind") == "epoch").height > 10
    _check_log(seen, number, before.leader_epoch, victim=before.leader, acted_ns=deed.acted_ns)
    assert status is not None
    print(f"observer: {status['cpu_s']} s CPU, {status['polls']} polls, {status['lines']} lines; {status}")  # noqa: T201


def _check_log(seen: pl.DataFrame, number: int, epoch: int, *, victim: int, acted_ns: int) -> None:
    """The controllers' own account agrees with the brokers': epochs, instants, and who applied what when."""
    fences = seen.filter((pl.col("kind") == "log_broker") & (pl.col("broker") == victim) & (pl.col("hi_ns") > acted_ns))
    fence = fences.row(0, named=True)
    assert (fence["fenced"], fence["stopping"]) == (True, False), "a kill is noticed by the end of the lease"
    assert acted_ns < fence["lo_ns"] < fence["hi_ns"]
    assert fences["fenced"].to_list()[-1] is False, "and it was let in again"
    moved = seen.filter(
        (pl.col("kind") == "log_partition") & (pl.col("topic") == "watched") & (pl.col("partition") == number)
    )
    elected = moved.filter(pl.col("epoch") == epoch + 1).row(0, named=True)
    assert elected["leader"] not in (victim, -1)
    assert (elected["lo_ns"], elected["last_offset"]) == (fence["lo_ns"], fence["offset"]), "one batch, the fence last"
    committed = seen.filter((pl.col("kind") == "log_committed") & (pl.col("last_offset") == fence["last_offset"]))
    assert committed.height == 1
    assert committed["hi_ns"].item() >= fence["hi_ns"]
    # Both survivors applied the batch after it was made, and named its leader in its epoch.
    applied = seen.filter((pl.col("kind") == "epoch") & (pl.col("offset") >= fence["last_offset"]))
    first = applied.group_by("broker").agg(pl.col("hi_ns").min()).filter(pl.col("broker") != victim)
    assert first.height == 2
    assert (first["hi_ns"] > fence["lo_ns"]).all()
    told = seen.filter(
        (pl.col("kind") == "leadership") & (pl.col("partition") == number) & (pl.col("epoch") == epoch + 1)
    )
    assert set(told["leader"].to_list()) - {-1} == {elected["leader"]}
    # One controller leads, all name it, and it says twice a second that it lives.
    assert seen.filter(pl.col("kind") == "quorum")["controller"].drop_nulls().unique().len() >= 1
    assert seen.filter(pl.col("kind") == "log_noop").height > 10
    assert seen.filter(pl.col("kind").is_in(["log_cut", "log_skipped"])).is_empty()
