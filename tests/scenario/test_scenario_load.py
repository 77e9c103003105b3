"""A scenario file becomes frozen values, or every problem with file, path and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.cluster.spec import ClusterSpec, Timeouts, TopicSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import ExitCode, ScenarioError
from chaoskafka.faults.kill import Kill
from chaoskafka.scenario.facts import checks_of, expect_facts, scenario_facts
from chaoskafka.scenario.load import load_scenario, load_text
from chaoskafka.scenario.model import DEFAULT_EXPECT
from chaoskafka.workloads.consume import Consume
from chaoskafka.workloads.produce import Produce

GOOD = """\
# Is it safe?
title: Leader killed
cluster: {nodes: 3, timeouts: fast}
topics:
  orders: {partitions: 6}
workloads:
  - produce: {topic: orders, rate_per_s: 600, acks: all}
  - consume: {topic: orders, group: readers, processes: 2}
plan:
  - after_s: 5
    kill: {target: "leader of orders/0, not active controller", for_s: 15}
expect:
  - no_lost_acknowledged
  - ordered: {allow: permitted}
"""


def wrong(text: str, *, settings: tuple[str, ...] = ()) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load_text(text, name="x", file="x.yaml", settings=settings)
    assert caught.value.exit_code is ExitCode.USAGE
    return [str(caught.value), *getattr(caught.value, "__notes__", ())]


def test_every_section_is_bound() -> None:
    scenario = load_text(GOOD, name="x", file="x.yaml")
    assert scenario.title == "Leader killed"
    assert scenario.question == "Is it safe?"
    assert scenario.cluster == ClusterSpec(nodes=3, timeouts=Timeouts.FAST)
    assert scenario.topics == {"orders": TopicSpec(partitions=6)}
    assert [(item.word, item.value) for item in scenario.workloads] == [
        ("produce", Produce(topic="orders", rate_per_s=600.0, acks="all")),
        ("consume", Consume(topic="orders", group="readers", processes=2)),
    ]
    (step,) = scenario.plan
    assert (step.after_s, step.word) == (5.0, "kill")
    assert step.fault == Kill(target=Target("leader of orders/0, not active controller"), for_s=15.0)
    assert [item.word for item in scenario.expect] == ["no_lost_acknowledged", "ordered"]


def test_a_file_is_named_by_its_stem(tmp_path: Path) -> None:
    path = tmp_path / "my-case.yaml"
    path.write_text(GOOD)
    scenario = load_scenario(path)
    assert (scenario.name, scenario.file) == ("my-case", str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(tmp_path / "none.yaml")


def test_the_facts_are_a_scenario_again() -> None:
    scenario = load_text(GOOD, name="x")
    facts = scenario_facts(scenario)
    assert facts["plan"][0]["kill"]["target"] == "leader of orders/0, not active controller"
    assert [(c.word, c.value) for c in checks_of(expect_facts(scenario))] == [
        (c.word, c.value) for c in scenario.expect
    ]


def without(key: str) -> str:
    lines = GOOD.splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if line.startswith(f"{key}:"))
    end = next((i for i in range(start + 1, len(lines)) if not lines[i].startswith(" ")), len(lines))
    return "".join(lines[:start] + lines[end:])


def test_expect_absent_means_the_usual_checks() -> None:
    scenario = load_text(without("expect"), name="x")
    assert tuple(item.word for item in scenario.expect) == DEFAULT_EXPECT


def test_without_a_group_nothing_is_asked_of_deliveries() -> None:
    text = without("expect").replace("  - consume: {topic: orders, group: readers, processes: 2}\n", "")
    assert "all_delivered" not in [item.word for item in load_text(text, name="x").expect]


def test_took_effect_is_always_on_and_so_never_listed() -> None:
    scenario = load_text(GOOD + "  - took_effect\n", name="x")
    assert "took_effect" not in [item.word for item in scenario.expect]


def test_the_cluster_has_defaults_and_the_title_is_the_name() -> None:
    text = without("cluster").replace("title: Leader killed\n", "")
    scenario = load_text(text, name="x")
    assert (scenario.cluster, scenario.title) == (ClusterSpec(), "x")


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("title: Leader killed", "titel: x", 2, "titel: unknown key 'titel'; did you mean 'title'?"),
        ("title: Leader killed", "title: 5", 2, "title: expected text"),
        ("nodes: 3", "nods: 3", 3, "cluster.nods: unknown key 'nods'; did you mean 'nodes'?"),
        ("nodes: 3", "nodes: 0", 3, "cluster.nodes: 0 is not between 1 and 50"),
        ("nodes: 3", 'nodes: "3"', 3, "cluster.nodes: expected a whole number, got '3'"),
        ("timeouts: fast", "timeouts: quick", 3, "cluster.timeouts: 'quick' is not allowed"),
        ("partitions: 6", "partitions: six", 5, "topics.orders.partitions: expected a whole number, got 'six'"),
        ("partitions: 6", "replication_factor: 5", 5, "5 replicas do not fit on 3 brokers"),
        ("  orders: {", '  "or ders": {', 5, "cannot name a topic"),
        ("  orders: {", '  "../x": {', 5, "cannot name a topic"),
        ("  orders: {", "  __orders: {", 5, "Kafka's own"),
        ("rate_per_s: 600", "rate_per_s: -1", 7, "workloads[0].produce.rate_per_s: -1.0 is not above 0"),
        (
            "produce: {topic: orders",
            "produce: {topic: oders",
            7,
            "produce.topic: no topic is called 'oders'",
        ),
        ("- produce:", "- prodcue:", 7, "no workload is called 'prodcue'; did you mean 'produce'?"),
        ("group: readers", "group: 'a/b'", 8, "workloads[1].consume.group: 'a/b' cannot name a group"),
        ("after_s: 5", "after_s: soon", 10, "plan[0].after_s: expected a number, got 'soon'"),
        ("after_s: 5", "after_s: -5", 10, "plan[0].after_s: -5 is not between 0 and 604800 s"),
        ("after_s: 5\n    kill", "kill", 10, "after_s is missing"),
        (", for_s: 15", "", 11, "plan[0].kill: for_s is missing: the plan ends here"),
        ("    kill:", "    kil:", 11, "plan[0].kil: no fault is called 'kil'; did you mean 'kill'?"),
        (
            "leader of orders/0",
            "leader of orders/6",
            11,
            "target: orders/6: the partitions of orders are 0 to 5",
        ),
        ("leader of orders/0", "leader of bills/0", 11, "no topic is called 'bills'"),
        (
            "leader of orders/0",
            "group coordinator of raeders",
            11,
            "no workload reads as group 'raeders'; did you",
        ),
        ("leader of orders/0", "broker 4", 11, "there is no broker 4; there are 1, 2, 3"),
        ("leader of orders/0", "laeder of orders/0", 11, "plan[0].kill.target"),
        ("for_s: 15", "for_s: 0", 11, "plan[0].kill.for_s: 0.0 is not above 0"),
        ("    kill:", "    wait: 5\n    kill:", 10, "plan[0]: expected one fault"),
        ("allow: permitted", "allow: premitted", 14, "did you mean 'permitted'?"),
        ("- no_lost_acknowledged", "- no_lost_acknowledgd", 13, "did you mean 'no_lost_acknowledged'?"),
    ],
)
def test_a_problem_has_file_line_path_and_what_is_allowed(old: str, new: str, line: int, problem: str) -> None:
    assert old in GOOD
    first, *_ = wrong(GOOD.replace(old, new, 1))
    assert first.startswith(f"x.yaml:{line}: ")
    assert problem in first


@pytest.mark.parametrize("key", ["topics", "workloads", "plan"])
def test_a_section_that_is_needed(key: str) -> None:
    (first,) = wrong(without(key))[:1]
    assert f"{key}: " in first


def test_an_empty_expect_is_an_error() -> None:
    (first,) = wrong(without("expect") + "expect: []\n")
    assert "leave it out for the usual checks" in first


def test_every_problem_is_told_at_once_in_the_order_of_the_file() -> None:
    told = wrong(GOOD.replace("nodes: 3", "nods: 3").replace("kill:", "kil:").replace("title:", "titel:"))
    assert [text.split(": ")[0] for text in told] == ["x.yaml:2", "x.yaml:3", "x.yaml:11"]


def test_what_is_no_mapping_at_all() -> None:
    assert "expected a mapping" in wrong("- a\n")[0]


def test_a_setting_is_typed_and_checked_like_the_file() -> None:
    scenario = load_text(GOOD, name="x", settings=("plan[0].kill.for_s=8", "cluster.nodes=5"))
    assert getattr(scenario.plan[0].fault, "for_s", None) == 8.0
    assert scenario.cluster.nodes == 5
    (first,) = wrong(GOOD, settings=("plan[0].kill.for_s=long",))
    assert first == "--set plan[0].kill.for_s=long: plan[0].kill.for_s: expected a number, got 'long'"


def test_seed_and_timeout_of_the_file() -> None:
    scenario = load_text(GOOD + "seed: 7\ntimeout_s: 300\n", name="x")
    assert (scenario.seed, scenario.timeout_s) == (7, 300.0)
    assert "seed: -1 is not between 0 and" in wrong(GOOD + "seed: -1\n")[0]
    assert "timeout_s: 0 is not between 1 and" in wrong(GOOD + "timeout_s: 0\n")[0]


def test_a_list_has_a_limit() -> None:
    item = "  - after_s: 1\n    kill: {target: any}\n"
    assert "at most 1000" in wrong(without("plan") + "plan:\n" + item * 1001)[0]
