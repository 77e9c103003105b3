"""What no section of a scenario can see alone: its parts must fit each other. In: a bound Scenario. Out: broken rules.

Faults and workloads are asked by their fields, so that a new one is held to the same rules without a line here: `topic`
names a topic, `group` a consumer group, a `Target` somebody in this cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from chaoskafka.cluster.targets import Target
from chaoskafka.scenario.catalogue import did_you_mean
from chaoskafka.scenario.model import Scenario
from chaoskafka.scenario.source import YamlPath

NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,200}\Z")
NAME_RULE = "1 to 200 letters, digits, '.', '_' and '-', for it goes into file names"

Broken = tuple[YamlPath, str]


def broken_rules(scenario: Scenario) -> Iterator[Broken]:
    """Every rule that the scenario breaks, with the path of what breaks it."""
    yield from _numbers(scenario)
    yield from _topics(scenario)
    yield from _workloads(scenario)
    yield from _plan(scenario)


def _numbers(scenario: Scenario) -> Iterator[Broken]:
    if scenario.seed is not None and scenario.seed < 0:
        yield ("seed",), f"{scenario.seed} is below 0"
    if scenario.timeout_s is not None and scenario.timeout_s <= 0:
        yield ("timeout_s",), f"{scenario.timeout_s} is not above 0"


def _topics(scenario: Scenario) -> Iterator[Broken]:
    brokers = len(scenario.cluster.broker_ids)
    for name, topic in scenario.topics.items():
        if not NAME.match(name):
            yield ("topics", name), f"{name!r} cannot name a topic: {NAME_RULE}"
        elif name.startswith("__"):
            yield ("topics", name), f"{name!r}: names that begin with __ are Kafka's own"
        if topic.replication_factor > brokers:
            problem = f"{topic.replication_factor} replicas do not fit on {brokers} brokers"
            yield ("topics", name, "replication_factor"), problem


def _workloads(scenario: Scenario) -> Iterator[Broken]:
    for i, item in enumerate(scenario.workloads):
        path: YamlPath = ("workloads", i, item.word)
        topic, group = getattr(item.value, "topic", None), getattr(item.value, "group", None)
        if isinstance(topic, str) and topic not in scenario.topics:
            yield (*path, "topic"), f"no topic is called {topic!r}{did_you_mean(topic, scenario.topics)}"
        if isinstance(group, str) and not NAME.match(group):
            yield (*path, "group"), f"{group!r} cannot name a group: {NAME_RULE}"


def _plan(scenario: Scenario) -> Iterator[Broken]:
    for i, step in enumerate(scenario.plan):
        if step.after_s < 0:
            yield ("plan", i, "after_s"), f"{step.after_s} is below 0"
        if step is scenario.plan[-1] and getattr(step.fault, "for_s", ...) is None:
            yield ("plan", i, step.word), "for_s is missing: the plan ends here, so the fault would be healed at once"
        for field in fields(step.fault):  # type: ignore[arg-type]  # every fault is a dataclass: the catalogue saw to it
            target = getattr(step.fault, field.name)
            if isinstance(target, Target):
                for problem in _target(scenario, target):
                    yield ("plan", i, step.word, field.name), problem


def _target(scenario: Scenario, target: Target) -> Iterator[str]:
    groups = {group for item in scenario.workloads if isinstance(group := getattr(item.value, "group", None), str)}
    for topic, partition in target.partitions:
        if topic not in scenario.topics:
            yield f"no topic is called {topic!r}{did_you_mean(topic, scenario.topics)}"
        elif partition >= scenario.topics[topic].partitions:
            last = scenario.topics[topic].partitions - 1
            yield f"{topic}/{partition}: the partitions of {topic} are 0 to {last}"
    for group in target.groups:
        if group not in groups:
            yield f"no workload reads as group {group!r}{did_you_mean(group, groups)}"
    known = {node.node_id for node in scenario.cluster.members}
    for node_id in target.node_ids:
        if node_id not in known:
            yield f"there is no node {node_id}; there are {', '.join(map(str, sorted(known)))}"
