"""A scenario as `run.json` keeps it, and the checks of a stored run back from there.

In: a Scenario, or the `expect` of a run's header. Out: JSON values, or checks that can be run again anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskafka.checks import Check
from chaoskafka.errors import HistoryError
from chaoskafka.scenario.bind import BindError, bind, plain
from chaoskafka.scenario.catalogue import Kind, UnknownWord, find
from chaoskafka.scenario.control import Control
from chaoskafka.scenario.model import Named, PlanItem, PlanStep, Scenario
from chaoskafka.scenario.nodes import LISTS, Flap


def scenario_facts(scenario: Scenario) -> Mapping[str, Any]:
    """The whole scenario with every default written out, in the shape of its file."""
    return {
        "title": scenario.title,
        "question": scenario.question,
        "cluster": plain(scenario.cluster),
        "topics": {name: plain(topic) for name, topic in scenario.topics.items()},
        "workloads": [{item.word: plain(item.value)} for item in scenario.workloads],
        "plan": [_item_facts(item) for item in scenario.plan],
        "expect": list(expect_facts(scenario)),
        **({} if scenario.control is None else {"control": plain(scenario.control)}),
    }


def control_of(scenario: Mapping[str, Any]) -> Control | None:
    """The control that a stored run was. Raises HistoryError when this version does not understand it."""
    written = scenario.get("control")
    try:
        return None if written is None else bind(Control, written)
    except BindError as wrong:
        raise HistoryError(f"run.json: control: {wrong}") from wrong


def _item_facts(item: PlanItem, *, at_once: bool = False) -> Mapping[str, Any]:
    """`at_once`: of those that strike together none has a time of its own, nor has what only holds steps."""
    facts: dict[str, Any] = {} if at_once or item.word in ("repeat", "sequence") else {"after_s": item.after_s}
    if item.when is not None:
        facts["when"] = item.when.facts
    if item.no_wait:
        facts["no_wait"] = True
    if isinstance(item, PlanStep):
        until = {} if item.until is None else {"until": item.until.facts}
        return {**facts, item.word: {**plain(item.fault), **until}}
    keys = plain(item.keys)
    if "steps" in keys:
        keys["steps"] = [_item_facts(below, at_once=item.word == "together") for below in item.items]
    for step in item.items if isinstance(item.keys, Flap) else ():
        assert isinstance(step, PlanStep)
        keys[step.word] = {key: value for key, value in plain(step.fault).items() if key != "for_s"}  # down_s says it
    return {**facts, item.word: keys["steps"] if item.word in LISTS else keys}


def expect_facts(scenario: Scenario) -> tuple[Mapping[str, Any], ...]:
    """The checks as a run's header keeps them: one `{word: parameters}` each."""
    return tuple({item.word: plain(item.value)} for item in scenario.expect)


def checks_of(expect: Sequence[Mapping[str, Any]]) -> tuple[Named[Check], ...]:
    """The checks of a stored run.

    Raises HistoryError for a check that this version does not know, or with parameters that it does not take: leaving
    it out would turn a question that was asked into silence.
    """
    checks: list[Named[Check]] = []
    for item in expect:
        if not isinstance(item, Mapping) or len(item) != 1:
            raise HistoryError(f"run.json: expect: not one check with its parameters: {item!r}")
        word, parameters = next(iter(item.items()))
        try:
            checks.append(Named(word=word, value=bind(find(Kind.CHECK, word), parameters)))
        except (UnknownWord, BindError) as wrong:
            raise HistoryError(f"run.json: expect: {word}: {wrong}") from wrong
    return tuple(checks)
