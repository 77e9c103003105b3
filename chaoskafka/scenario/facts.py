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
from chaoskafka.scenario.model import Named, Scenario


def scenario_facts(scenario: Scenario) -> Mapping[str, Any]:
    """The whole scenario with every default written out, in the shape of its file."""
    return {
        "title": scenario.title,
        "question": scenario.question,
        "cluster": plain(scenario.cluster),
        "topics": {name: plain(topic) for name, topic in scenario.topics.items()},
        "workloads": [{item.word: plain(item.value)} for item in scenario.workloads],
        "plan": [{"after_s": step.after_s, step.word: plain(step.fault)} for step in scenario.plan],
        "expect": list(expect_facts(scenario)),
    }


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
