"""docs/scenarios.md, docs/suites.md and docs/results.md say what the code does."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from chaoskafka.cluster.conditions import Word
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.errors import ExitCode
from chaoskafka.report.result import CheckResult, Result
from chaoskafka.scenario import shipped
from chaoskafka.scenario.catalogue import Kind, find, members
from chaoskafka.scenario.load import KEYS, load_text
from chaoskafka.scenario.model import DEFAULT_EXPECT, played
from chaoskafka.scenario.nodes import LISTS, NODES
from chaoskafka.scenario.reference import renewed

DOCS = Path(__file__).parents[2] / "docs"
SCENARIOS = (DOCS / "scenarios.md").read_text(encoding="utf-8")
SUITES = (DOCS / "suites.md").read_text(encoding="utf-8")
RESULTS = (DOCS / "results.md").read_text(encoding="utf-8")


def test_the_reference_is_up_to_date() -> None:
    renew = "python -m chaoskafka.scenario.reference docs/scenarios.md"
    assert renewed(SCENARIOS) == SCENARIOS, f"renew it with: {renew}"


def test_the_tables_of_scenarios_and_suites_are_up_to_date() -> None:
    renew = "python -m chaoskafka.scenario.shipped docs/suites.md"
    assert shipped.renewed(SUITES) == SUITES, f"renew it with: {renew}"


@pytest.mark.parametrize("kind", list(Kind))
def test_every_word_and_every_field_is_documented(kind: Kind) -> None:
    for word in members(kind):
        section = SCENARIOS.partition(f"\n### `{word}`\n")[2].partition("\n### ")[0]
        for field in fields(find(kind, word)):
            assert f"| `{field.name}` |" in section, f"{word}.{field.name}"


@pytest.mark.parametrize(("heading", "kind"), [("cluster", ClusterSpec), ("topics.NAME", TopicSpec)])
def test_every_field_of_cluster_and_topics_is_documented(heading: str, kind: type[ClusterSpec | TopicSpec]) -> None:
    section = SCENARIOS.partition(f"\n## `{heading}`\n")[2].partition("\n## ")[0]
    assert [field.name for field in fields(kind) if f"| `{field.name}` |" not in section] == []


def test_every_section_and_every_usual_check_is_documented() -> None:
    assert [key for key in KEYS if f"| `{key}` |" not in SCENARIOS] == []
    assert ", ".join(f"`{word}`" for word in DEFAULT_EXPECT) in SCENARIOS


def test_the_example_loads() -> None:
    example = SCENARIOS.partition("```yaml\n")[2].partition("```")[0]
    assert load_text(example, name="example").question.startswith("Does a killed partition leader")


def test_every_exit_code_is_documented() -> None:
    told = dict(re.findall(r"^\| (\d+) \| ([a-z ]+)", RESULTS, flags=re.MULTILINE))
    assert {int(code) for code in told} == set(ExitCode)


def test_every_key_of_result_json_is_documented() -> None:
    names = [field.name for kind in (Result, CheckResult) for field in fields(kind)]
    assert [name for name in names if f"`{name}`" not in RESULTS] == []


def test_every_word_that_puts_faults_together_and_every_condition_is_documented() -> None:
    for word, keys in NODES.items():
        section = SCENARIOS.partition(f"\n### `{word}`\n")[2].partition("\n### ")[0]
        assert section, word
        if word not in LISTS:
            assert [field.name for field in fields(keys) if f"| `{field.name}` |" not in section] == []
    assert [word for word in Word if f"\n| `{word}` |" not in SCENARIOS] == []


def test_the_example_of_a_plan_loads() -> None:
    example = SCENARIOS.split("```yaml\n")[2].partition("```")[0]
    head = "topics: {orders: {}}\nworkloads: [{produce: {topic: orders}}]\n"
    assert played(load_text(head + example, name="example").plan) == 2 + 3 + 10 + 1
