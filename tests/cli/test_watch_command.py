"""`watch`: the scenario that it makes of a call, what is refused before anything is made, and what is deleted after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.sights import BrokerView, PartitionView
from chaoskafka.commands import WatchRequest, watch
from chaoskafka.ending import ExitCode
from chaoskafka.errors import EnvironmentFailure, UsageError
from chaoskafka.run import RunOutcome
from chaoskafka.runtimes.external.found import Found
from chaoskafka.scenario.model import PlanStep, Scenario

FOUND = Found(cluster_id="c", brokers={5: Address("h", 1), 9: Address("h", 2)}, versions={})


@pytest.fixture
def request_(tmp_path: Path) -> WatchRequest:
    return WatchRequest(
        bootstrap=("h:1",),
        command=("./upgrade.sh", "--all now"),
        security=None,
        bites_when="fenced",
        heals_when="recovered",
        topic=None,
        rate_per_s=50.0,
        run_s=60.0,
        out=tmp_path,
        junit=None,
        json=None,
    )


class Deleting:
    """In place of the administration: takes down what is deleted."""

    gone: list[list[str]]
    refuses: bool

    def __init__(self, *_: object) -> None:
        pass

    def delete_topics(self, names: list[str]) -> None:
        self.gone.append(names)
        if self.refuses:
            raise EnvironmentFailure("not allowed")

    delete_groups = delete_topics


class Topics:
    """In place of asking the brokers, who know these topics."""

    def __init__(self, *_: object) -> None:
        pass

    def ask_all(self, topics: list[str]) -> list[BrokerView]:
        seen = PartitionView(topic_id="x", leader=5, leader_epoch=0, replicas=(5,), isr=(5,))
        there = {("orders", 0): seen} if topics == ["orders"] else {}
        return [BrokerView(broker=5, reachable=True, partitions=there)]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Scenario]:
    """In place of a cluster and of playing."""
    scenarios: list[Scenario] = []

    def play(scenario: Scenario, **_: Any) -> RunOutcome:
        scenarios.append(scenario)
        return RunOutcome(run_dir=tmp_path / "run", exit_code=ExitCode.PASS)

    Deleting.gone, Deleting.refuses = [], False
    monkeypatch.setattr(watch, "find", lambda *_: FOUND)
    monkeypatch.setattr(watch, "run_scenario", play)
    monkeypatch.setattr(watch, "Admin", Deleting)
    monkeypatch.setattr(watch, "Views", Topics)
    monkeypatch.setattr(watch, "_report", lambda *_: None)
    return scenarios


def test_the_scenario_fits_the_cluster_that_was_found(request_: WatchRequest, played: list[Scenario]) -> None:
    assert watch.main(request_) is ExitCode.PASS
    (scenario,) = played
    assert scenario.cluster.broker_ids == (5, 9)
    ((name, topic),) = scenario.topics.items()
    assert (topic.replication_factor, topic.min_insync_replicas) == (2, 1)
    (step,) = scenario.plan
    assert isinstance(step, PlanStep)
    assert getattr(step.fault, "run") == request_.command  # noqa: B009 - of any fault
    assert Deleting.gone == [[name], [name]]


def test_a_topic_that_was_there_is_neither_written_to_nor_deleted(
    request_: WatchRequest, played: list[Scenario]
) -> None:
    with pytest.raises(UsageError, match="--topic orders: it exists"):
        watch.main(replace(request_, topic="orders"))
    assert (played, Deleting.gone) == ([], [])


def test_a_topic_by_name_has_a_group_that_nobody_else_has(request_: WatchRequest, played: list[Scenario]) -> None:
    watch.main(replace(request_, topic="mine"))
    topic, group = Deleting.gone
    assert topic == ["mine"]
    assert group[0].startswith("chaoskafka-watch-")
    assert list(played[0].topics) == ["mine"]


def test_names_are_never_shared(request_: WatchRequest, played: list[Scenario]) -> None:
    watch.main(request_)
    watch.main(request_)
    assert len({name for scenario in played for name in scenario.topics}) == 2


def test_what_cannot_be_deleted_is_told(
    request_: WatchRequest, played: list[Scenario], capsys: pytest.CaptureFixture[str]
) -> None:
    Deleting.refuses = True
    assert watch.main(request_) is ExitCode.ENVIRONMENT
    told = capsys.readouterr().err
    name = next(iter(played[0].topics))
    assert f"while deleting topic {name}" in told
    assert f"while deleting group {name}" in told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"bootstrap": ("host",)}, "expected HOST:PORT"),
        ({"bootstrap": ("host:0",)}, "expected HOST:PORT"),
        ({"bootstrap": (":9092",)}, "expected HOST:PORT"),
        ({"bites_when": "fence"}, "did you mean 'fenced'"),
        ({"bites_when": "{"}, "--bites-when:1: not YAML"),
        ({"bites_when": "[" * 1000}, "--bites-when"),
        ({"bites_when": "2024-13-45"}, "'2024-13-45' is no condition"),
        ({"bites_when": "recovered"}, "says that nothing is broken"),
        ({"bites_when": "leader_changed: other/0"}, "no topic is called 'other'"),
        ({"bites_when": "fenced: 1"}, "there is no broker 1; there are 5, 9"),
        ({"heals_when": "recovered: 3"}, "it takes no value"),
        ({"command": ("",)}, "expected a command"),
    ],
)
def test_a_wrong_call_makes_nothing(
    request_: WatchRequest, played: list[Scenario], changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        watch.main(replace(request_, **changes))
    assert (played, Deleting.gone) == ([], [])


def test_the_command_to_type_again_is_a_shells(request_: WatchRequest) -> None:
    assert watch._replay(request_).endswith("-- ./upgrade.sh '--all now'")
