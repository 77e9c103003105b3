"""`produce` and `consume` as values: what they refuse, and what they tell their workers."""

from __future__ import annotations

from typing import Any

import pytest
from cases import topic_facts

from chaoskafka.scenario.bind import bind
from chaoskafka.workloads.consume import Consume
from chaoskafka.workloads.produce import Produce
from chaoskafka.workloads.worker.arguments import WorkerArguments


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("topic", ""),
        ("topic", "no spaces"),
        ("topic", ".."),
        ("topic", "x" * 250),
        ("rate_per_s", 0),
        ("rate_per_s", -1.0),
        ("rate_per_s", 1e9),
        ("rate_per_s", float("nan")),
        ("acks", 2),
        ("acks", True),
        ("acks", "none"),
        ("processes", 0),
        ("processes", 51),
        ("message_bytes", 43),
        ("message_bytes", 2_000_000),
        ("drain_s", 0),
        ("client", "fast"),
        ("client", {"acks": "1"}),
        ("client", {"bootstrap.servers": "x:1"}),
        ("client", {"security.protocol": "SSL"}),
        ("client", {"sasl.password": "x"}),
        ("client", {"ssl.key.password": "x"}),
    ],
)
def test_produce_names_the_field_that_is_wrong(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        Produce(**{"topic": "orders", field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("topic", "a/b"),
        ("group", ""),
        ("processes", 0),
        ("protocol", "share"),
        ("commit_every_s", 0),
        ("drain_s", -1),
        ("client", "slow"),
        ("client", {"group.id": "mine"}),
        ("client", {"enable.auto.commit": True}),
    ],
)
def test_consume_names_the_field_that_is_wrong(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        Consume(**{"topic": "orders", field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(("written", "acks"), [("all", "all"), (1, "1"), ("1", "1")])
def test_the_harness_profile_is_idempotent_where_acks_allow_it(written: Any, acks: str) -> None:
    produce = Produce(topic="orders", acks=written)
    assert produce.settings["acks"] == acks
    assert produce.idempotent == (acks == "all")
    assert produce.settings["max.in.flight.requests.per.connection"] == "1"


def test_the_default_profile_sets_nothing_of_its_own() -> None:
    assert Produce(topic="orders", client="librdkafka_default").settings == {"acks": "all"}
    assert not Produce(topic="orders", client="librdkafka_default").idempotent


def test_own_settings_are_taken_as_they_are() -> None:
    produce = bind(
        Produce,
        {"topic": "orders", "client": {"linger.ms": 0, "enable.idempotence": True}},
    )
    assert produce.settings == {
        "linger.ms": "0",
        "enable.idempotence": "true",
        "acks": "all",
    }
    assert produce.idempotent
    with pytest.raises(ValueError, match=r"enable\.idempotence needs acks: all"):
        Produce(topic="orders", acks=1, client={"enable.idempotence": "true"})


def test_a_consumer_commits_by_hand_whatever_the_profile() -> None:
    for client in ("harness", "librdkafka_default", {"fetch.wait.max.ms": 100}):
        settings = Consume(topic="orders", client=client).settings
        assert settings["enable.auto.commit"] == settings["enable.auto.offset.store"] == "false"
        assert settings["auto.offset.reset"] == "earliest"


def test_the_rate_is_shared_by_the_processes() -> None:
    topics = [topic_facts("bills", 1), topic_facts("orders", 0, partitions=6)]
    workers = Produce(topic="orders", rate_per_s=600, processes=3).workers(
        run_id="r", first_worker=7, topics=topics, bootstrap="a:1,b:1"
    )
    assert [(w.worker, w.name, w.rate_per_s) for w in workers] == [
        (7, "produce-7", 200),
        (8, "produce-8", 200),
        (9, "produce-9", 200),
    ]
    assert {(w.topics, w.partitions, w.topic_index) for w in workers} == {(("orders", "bills"), 6, 0)}
    assert workers[0].settings["bootstrap.servers"] == "a:1,b:1"
    assert [WorkerArguments.from_json(w.to_json()) for w in workers] == list(workers)


def test_facts_for_the_header() -> None:
    consume = Consume(topic="bills", group="g", processes=2, client={"fetch.min.bytes": 1})
    workers = consume.workers(
        run_id="r",
        first_worker=3,
        topics=[topic_facts(), topic_facts("bills", 1)],
        bootstrap="a:1",
    )
    facts = consume.facts(workers)
    assert (facts.word, facts.topic, facts.group, facts.workers) == (
        "consume",
        "bills",
        "g",
        (3, 4),
    )
    assert facts.client == "own settings"
    assert facts.settings["fetch.min.bytes"] == "1"
    assert "bootstrap.servers" not in facts.settings
    assert [w.topic_index for w in workers] == [1, 1]


@pytest.mark.parametrize("topics", [[], [topic_facts("bills")], [topic_facts(index=1)]])
def test_a_topic_that_the_run_does_not_have(topics: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"^topics?: "):
        Produce(topic="orders").workers(run_id="r", first_worker=1, topics=topics, bootstrap="a:1")
