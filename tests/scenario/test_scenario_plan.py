"""The plan is a pure function of scenario and seed; the literals hold on every machine."""

from __future__ import annotations

import json

from chaoskafka.scenario.load import load_text
from chaoskafka.scenario.plan import plan, plan_facts

TEXT = """\
topics: {orders: {}}
workloads: [{produce: {topic: orders}}]
plan:
  - {after_s: 5, kill: {target: any, for_s: 15}}
  - {after_s: 2.5, kill: {target: broker 2, for_s: 8}}
"""


def test_the_plan_equals_its_literal() -> None:
    steps = plan(load_text(TEXT, name="x"), 7)
    assert [(step.index, step.after_s, step.word, step.seed) for step in steps] == [
        (0, 5.0, "kill", 14254637482812893),
        (1, 2.5, "kill", 16966735830609695309),
    ]


def test_the_same_seed_gives_the_same_plan_and_another_one_other_choices() -> None:
    scenario = load_text(TEXT, name="x")
    assert plan(scenario, 7) == plan(scenario, 7)
    assert {step.seed for step in plan(scenario, 7)}.isdisjoint(step.seed for step in plan(scenario, 8))


def test_facts_hold_after_s_the_word_and_the_fault_s_parameters() -> None:
    facts = plan_facts(plan(load_text(TEXT, name="x"), 7))
    assert json.loads(json.dumps(facts)) == list(facts)
    assert {"after_s": 2.5, "word": "kill", "target": "broker 2", "for_s": 8.0}.items() <= facts[1].items()
