"""The plan is a pure function of scenario and seed; the literals hold on every machine."""

from __future__ import annotations

import json

import pytest

from chaoskafka.history.header import RunHeader
from chaoskafka.scenario.facts import scenario_facts
from chaoskafka.scenario.load import load_text
from chaoskafka.scenario.model import played
from chaoskafka.scenario.plan import Planned, PlannedGroup, PlannedPlace, PlannedStep, leaves, plan, plan_facts
from tests.histories.frame import header_of
from tests.histories.shape import Shape

HEAD = """\
topics: {orders: {}}
workloads: [{produce: {topic: orders}}]
plan:
"""
TEXT = (
    HEAD
    + """\
  - {after_s: 5, kill: {target: any, for_s: 15}}
  - {after_s: 2.5, kill: {target: broker 2, for_s: 8}}
"""
)
TREE = (
    HEAD
    + """\
  - place: {leader_of: orders/0, on: not active controller}
  - repeat:
      times: 2
      steps:
        - {after_s: 1, kill: {target: any, for_s: 3}}
        - after_s: 2
          when: {isr_full: orders, within_s: 9}
          together:
            - stop: {target: broker 1, until: {leader_changed: orders/0}}
            - sequence:
                - {after_s: 0, kill: {target: broker 2, for_s: 4}}
                - {after_s: 1, no_wait: true, restart: {target: broker 2}}
  - {after_s: 3, flap: {kill: {target: broker 3}, times: 3, down_s: 2, up_s: 1}}
  - {after_s: 4, random: {times: 4, faults: [kill: {for_s: 1}, stop: {for_s: 2}], targets: [broker 1, any]}}
"""
)


def of(text: str, seed: int = 7) -> tuple[Planned, ...]:
    return plan(load_text(text, name="x"), seed)


def test_the_plan_equals_its_literal() -> None:
    assert [(step.index, step.after_s, step.word, step.seed) for step in leaves(of(TEXT))] == [
        (0, 5.0, "kill", 14254637482812893),
        (1, 2.5, "kill", 16966735830609695309),
    ]


def test_the_same_seed_gives_the_same_plan_and_another_one_other_choices() -> None:
    assert of(TEXT) == of(TEXT)
    assert {step.seed for step in leaves(of(TEXT))}.isdisjoint(step.seed for step in leaves(of(TEXT, 8)))


def test_facts_hold_after_s_the_word_and_the_fault_s_parameters() -> None:
    facts = plan_facts(of(TEXT))
    assert json.loads(json.dumps(facts)) == list(facts)
    assert {"fault": 1, "after_s": 2.5, "word": "kill", "target": "broker 2", "for_s": 8.0}.items() <= facts[1].items()


def test_every_fault_has_a_number_of_its_own_in_the_order_of_the_plan() -> None:
    scenario = load_text(TREE, name="x")
    planned = plan(scenario, 7)
    faults = list(leaves(planned))
    assert [fault.index for fault in faults] == list(range(8 + 3 + 4)) == list(range(played(scenario.plan)))
    assert len({fault.seed for fault in faults}) == len(faults)
    assert [fault.word for fault in faults[:11]] == ["kill", "stop", "kill", "restart"] * 2 + ["kill"] * 3


def test_the_shape_of_the_tree() -> None:
    place, repeat, flap, drawn = of(TREE)
    assert isinstance(place, PlannedPlace)
    assert isinstance(repeat, PlannedGroup)
    assert [step.word for step in repeat.steps if isinstance(step, PlannedGroup | PlannedStep)] == [
        "kill", "together", "kill", "together",
    ]  # fmt: skip
    both = repeat.steps[1]
    assert isinstance(both, PlannedGroup)
    assert (both.after_s, str(both.when), both.when and both.when.within_s) == (2, "isr_full orders", 9)
    stop, sequence = both.steps
    assert isinstance(stop, PlannedStep)
    assert (stop.after_s, str(stop.until)) == (0, "leader_changed of orders/0")
    assert isinstance(sequence, PlannedGroup)
    assert [step.no_wait for step in sequence.steps] == [False, True]
    assert isinstance(flap, PlannedGroup)
    lengths = [(step.after_s, step.no_wait, step.fault.for_s) for step in flap.steps]  # type: ignore[union-attr]
    assert lengths == [(3, False, 2), (1, True, 2), (1, True, 2)]
    assert isinstance(drawn, PlannedGroup)
    assert {(step.after_s, step.may_skip) for step in leaves([drawn])} == {(4, True)}
    assert not any(step.may_skip for step in leaves([repeat, flap]))


def test_what_is_drawn_is_drawn_from_the_seed_and_equal_byte_by_byte() -> None:
    facts = [json.dumps(plan_facts(of(TREE, seed))) for seed in (7, 7, 8)]
    assert facts[0] == facts[1] != facts[2]
    *_, drawn = of(TREE)
    assert [(step.word, step.fault.target.text) for step in leaves([drawn])] == DRAWN_BY_7  # type: ignore[attr-defined]
    words = {(s.word, s.fault.target.text) for n in range(30) for s in leaves(of(TREE, n)[-1:])}  # type: ignore[attr-defined]
    assert words == {(word, target) for word in ("kill", "stop") for target in ("broker 1", "any")}


DRAWN_BY_7 = [("kill", "broker 1"), ("stop", "broker 1"), ("stop", "any"), ("kill", "broker 1")]


def test_the_header_knows_how_many_faults_the_tree_holds() -> None:
    def header(text: str) -> RunHeader:
        facts = plan_facts(of(text))
        assert json.loads(json.dumps(facts)) == list(facts)
        made = header_of(Shape())
        return RunHeader(**{**{name: getattr(made, name) for name in made.__slots__}, "plan": facts})

    assert header(TREE).faults_planned == 15
    assert header(TEXT).faults_planned == 2


@pytest.mark.parametrize("text", [TEXT, TREE])
def test_a_scenario_s_facts_load_again(text: str) -> None:
    scenario = load_text(text, name="x")
    facts = scenario_facts(scenario)
    again = load_text(json.dumps({key: facts[key] for key in ("topics", "workloads", "plan")}), name="x")
    assert plan(again, 7) == plan(scenario, 7)
