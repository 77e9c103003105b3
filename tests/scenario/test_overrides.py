"""`--set` replaces and adds values before they are bound."""

from __future__ import annotations

import pytest

from chaoskafka.errors import ScenarioError
from chaoskafka.scenario.overrides import override, parse_path
from chaoskafka.scenario.source import read_tree

TEXT = "cluster: {nodes: 3}\ntopics:\n  a.b: {partitions: 6}\nplan:\n  - kill: {for_s: 15}\nempty:\n"


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("cluster.nodes=5", ("cluster", "nodes"), 5),
        ('cluster.nodes="5"', ("cluster", "nodes"), "5"),
        ("cluster={brokers: 3, controllers: 3}", ("cluster", "brokers"), 3),
        ("plan[0].kill.for_s=8.5", ("plan", 0, "kill", "for_s"), 8.5),
        ('topics["a.b"].partitions=12', ("topics", "a.b", "partitions"), 12),
        ('cluster.config["num.io.threads"]=2', ("cluster", "config", "num.io.threads"), 2),
        ("empty.deep.er=x=y", ("empty", "deep", "er"), "x=y"),
        ("cluster.nodes=", ("cluster", "nodes"), None),
    ],
)
def test_a_setting_wins_over_the_file(setting: str, path: tuple[str | int, ...], value: object) -> None:
    before = read_tree(TEXT, "x.yaml")
    after = override(before, [setting])
    here = after.value
    for step in path:
        here = here[step]
    assert here == value
    assert before.value == read_tree(TEXT, "x.yaml").value  # the given tree is left as it was
    assert after.origin(path).file == f"--set {setting}"


def test_the_last_setting_wins() -> None:
    tree = override(read_tree(TEXT, "x.yaml"), ["cluster.nodes=5", "cluster.nodes=1"])
    assert tree.value["cluster"]["nodes"] == 1


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("cluster.nodes", "PATH=VALUE"),
        ("=5", "PATH=VALUE"),
        ("plan[3].kill=1", "plan has 1 items"),
        ("cluster[0]=1", "cluster has no list"),
        ("cluster.nodes.deeper=1", "cluster.nodes is not a mapping"),
        ("plan.kill=1", "plan is not a mapping"),
        ("clus ter=1", "not a path"),
        ("cluster.=1", "not a path"),
        ("cluster.nodes=[1", "not YAML"),
        ("cluster.nodes=*x", "anchors and aliases"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(setting: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem) as caught:
        override(read_tree(TEXT, "x.yaml"), [setting])
    assert caught.value.file == f"--set {setting}"


def test_paths_are_read_as_messages_show_them() -> None:
    assert parse_path('plan[0].kill["a.b"].c', "x") == ("plan", 0, "kill", "a.b", "c")
