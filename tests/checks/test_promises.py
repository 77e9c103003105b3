from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from chaoskafka.checks.new_leader import NewLeader
from chaoskafka.checks.unavailable import Unavailable
from chaoskafka.history.header import RunHeader
from chaoskafka.history.promises import promises
from tests.histories.builder import build
from tests.histories.shape import TOPIC, Shape


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> RunHeader:
    return RunHeader.load(build(tmp_path_factory.mktemp("run") / "run", Shape(partitions=1, before_s=1, after_s=0.5)))


def promised(header: RunHeader, **changes: object) -> tuple[bool, bool, bool]:
    """What the first producer may rely on when its workload is changed so: kept, stored once, in order."""
    work, *others = header.workloads
    changed = replace(header, workloads=(replace(work, **changes), *others))
    row = promises(changed, TOPIC).filter(pl.col("producer") == 1).row(0, named=True)
    return row["keeps"], row["once"], row["in_order"]


def test_the_safe_settings_promise_everything(header: RunHeader) -> None:
    assert promised(header) == (True, True, True)
    assert promised(header, acks="-1") == (True, True, True)


@pytest.mark.parametrize("acks", ["1", "0", None])
def test_without_acks_all_nothing_is_kept(header: RunHeader, acks: str | None) -> None:
    assert promised(header, acks=acks) == (False, True, True)


@pytest.mark.parametrize("idempotent", [False, None])
def test_without_idempotence_copies_and_disorder_are_permitted(header: RunHeader, idempotent: bool | None) -> None:
    assert promised(header, idempotent=idempotent) == (True, False, False)


@pytest.mark.parametrize("name", ["max.in.flight", "max.in.flight.requests.per.connection"])
def test_one_request_in_flight_keeps_order(header: RunHeader, name: str) -> None:
    assert promised(header, idempotent=False, settings={name: "1"}) == (True, False, True)
    assert promised(header, idempotent=False, settings={name: "5"}) == (True, False, False)


def test_min_isr_1_keeps_nothing(header: RunHeader) -> None:
    topic = replace(header.topics[0], min_insync_replicas=1)
    assert promised(replace(header, topics=(topic,))) == (False, True, True)


def test_unclean_election_on_any_broker_keeps_nothing(header: RunHeader) -> None:
    settings = {**header.broker_settings, "2": {"unclean.leader.election.enable": "true"}}
    assert promised(replace(header, broker_settings=settings)) == (False, True, True)


@pytest.mark.parametrize(("on_topic", "kept"), [(True, False), ("false", True)])
def test_the_topics_own_setting_of_unclean_election_wins(header: RunHeader, on_topic: object, kept: bool) -> None:
    scenario = {"topics": {TOPIC: {"config": {"unclean.leader.election.enable": on_topic}}}}
    brokers = {"1": {"unclean.leader.election.enable": "true"}}
    assert promised(replace(header, scenario=scenario, broker_settings=brokers))[0] is kept


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_limits_are_above_zero(seconds: float) -> None:
    with pytest.raises(ValueError, match="at_most_s"):
        Unavailable(at_most_s=seconds)
    with pytest.raises(ValueError, match="within_s"):
        NewLeader(within_s=seconds)
