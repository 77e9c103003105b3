"""What no section of a scenario can see alone: its parts must fit each other. In: a bound Scenario. Out: broken rules.

Faults, workloads and checks are asked by their fields, so that a new one is held to the same rules without a line here:
`topic` names a topic, `group` a consumer group, a `Target` somebody in this cluster, and what ends in `_s` is a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from chaoskafka.cluster.conditions import Condition, Word
from chaoskafka.cluster.config import config_problems
from chaoskafka.cluster.moving import OTHER, broker_of
from chaoskafka.cluster.spec import TopicSpec
from chaoskafka.cluster.targets import Kind as Who
from chaoskafka.cluster.targets import Target
from chaoskafka.cluster.versions import ACCEPTED, near
from chaoskafka.scenario.bind import shown
from chaoskafka.scenario.catalogue import did_you_mean
from chaoskafka.scenario.model import PlanItem, PlanStep, Scenario, nodes_of, played, steps_of
from chaoskafka.scenario.nodes import Place
from chaoskafka.scenario.seeds import SEED_MAX
from chaoskafka.scenario.source import YamlPath

NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,200}\Z")
NAME_RULE = "1 to 200 letters, digits, '.', '_' and '-', for it goes into file names"
SECONDS_MAX = 7 * 24 * 3600.0  # a week: longer than any soak; what is above is a slip, often milliseconds
PARTITIONS_MAX = 1000  # of all topics: each is timed, audited and has files of its own
FAULTS_MAX = 1000  # of all rounds: a soak of a day with a fault every two minutes has 720
TIMEOUT_MIN_S = 1.0  # as of --timeout-s
# Load is steady when each partition had an acknowledgement of late, and nobody waits longer than a minute for it to
# flow: a partition that hears of nothing for so long would leave the question unasked.
SILENCE_MAX_S = 10.0

Broken = tuple[YamlPath, str]


def broken_rules(scenario: Scenario) -> Iterator[Broken]:
    """Every rule that the scenario breaks, with the path of what breaks it."""
    yield from _numbers(scenario)
    yield from _cluster(scenario)
    yield from _topics(scenario)
    yield from _workloads(scenario)
    yield from _plan(scenario)


def too_long(part: object) -> Iterator[tuple[str, str]]:
    """The times of a part that no run would live to see, each with its problem. Which may be 0 the part says itself."""
    for field in fields(part):  # type: ignore[arg-type]  # every part is a dataclass: the catalogue saw to it
        value = getattr(part, field.name)
        if field.name.endswith("_s") and isinstance(value, float) and value > SECONDS_MAX:
            yield field.name, f"{value:g} is above {SECONDS_MAX:g} s (a week)"


def _numbers(scenario: Scenario) -> Iterator[Broken]:
    if scenario.seed is not None and not 0 <= scenario.seed <= SEED_MAX:
        yield ("seed",), f"{scenario.seed} is not between 0 and {SEED_MAX}"
    timeout_s = scenario.timeout_s
    if timeout_s is not None and not TIMEOUT_MIN_S <= timeout_s <= SECONDS_MAX:
        yield ("timeout_s",), f"{timeout_s:g} is not between {TIMEOUT_MIN_S:g} and {SECONDS_MAX:g} (a week)"


def _cluster(scenario: Scenario) -> Iterator[Broken]:
    kafka = scenario.cluster.kafka
    if kafka not in ACCEPTED:
        yield ("cluster", "kafka"), f"{shown(kafka)} is not supported{did_you_mean(near(kafka) or kafka, ACCEPTED)}"
    for key, problem in config_problems(scenario.cluster.config):
        yield ("cluster", "config", key), problem


def _topics(scenario: Scenario) -> Iterator[Broken]:
    brokers = len(scenario.cluster.broker_ids)
    partitions = sum(topic.partitions for topic in scenario.topics.values())
    most = max(scenario.topics, key=lambda name: scenario.topics[name].partitions)
    if partitions > PARTITIONS_MAX:
        yield ("topics", most, "partitions"), f"{partitions} partitions in all topics; at most {PARTITIONS_MAX}"
    metrics: dict[str, str] = {}  # Kafka names its metrics by topics, and in those names takes '.' and '_' for one
    for name, topic in scenario.topics.items():
        other = metrics.setdefault(name.replace(".", "_"), name)
        if other != name:
            yield ("topics", name), f"{name!r} and {other!r} differ in '.' and '_' only, which Kafka refuses"
        if not NAME.match(name):
            yield ("topics", name), f"{shown(name)} cannot name a topic: {NAME_RULE}"
        elif name.startswith("__"):
            yield ("topics", name), f"{name!r}: names that begin with __ are Kafka's own"
        if topic.replication_factor > brokers:
            problem = f"{topic.replication_factor} replicas do not fit on {brokers} brokers; at most {brokers}"
            yield ("topics", name, "replication_factor"), problem
        if "min.insync.replicas" in topic.config:
            problem = "cannot be set here; the topic's own min_insync_replicas says it"
            yield ("topics", name, "config", "min.insync.replicas"), problem


def _workloads(scenario: Scenario) -> Iterator[Broken]:
    loaded = {_text(item.value, "topic") for item in scenario.workloads if _text(item.value, "group") is None}
    for i, item in enumerate(scenario.workloads):
        path: YamlPath = ("workloads", i, item.word)
        topic, group = _text(item.value, "topic"), _text(item.value, "group")
        if topic is not None and topic not in scenario.topics:
            yield (*path, "topic"), f"no topic is called {shown(topic)}{did_you_mean(topic, scenario.topics)}"
        elif topic is not None and topic not in loaded:
            yield (*path, "topic"), f"no workload produces to {shown(topic)}, so there is nothing to read"
        if group is not None and not NAME.match(group):
            yield (*path, "group"), f"{shown(group)} cannot name a group: {NAME_RULE}"
        yield from _rate(item.value, path, scenario.topics)


def _rate(workload: object, path: YamlPath, topics: Mapping[str, TopicSpec]) -> Iterator[Broken]:
    """Each process sends to all partitions in turn."""
    rate_per_s, topic = getattr(workload, "rate_per_s", None), topics.get(_text(workload, "topic") or "")
    if not isinstance(rate_per_s, float) or topic is None:
        return
    turns = topic.partitions * getattr(workload, "processes", 1)
    if turns / rate_per_s > SILENCE_MAX_S:
        problem = f"{rate_per_s:g} is too little: each process would send to each of {topic.partitions} partitions"
        yield (
            (*path, "rate_per_s"),
            f"{problem} only every {turns / rate_per_s:g} s; at least {turns / SILENCE_MAX_S:g}",
        )


def _text(part: object, field: str) -> str | None:
    value: Any = getattr(part, field, None)
    return value if isinstance(value, str) else None


def _plan(scenario: Scenario) -> Iterator[Broken]:
    if (faults := played(scenario.plan)) > FAULTS_MAX:
        yield ("plan",), f"{faults} faults are played in all; at most {FAULTS_MAX}"
    elif not faults:
        yield ("plan",), "no fault is played"
    last = scenario.plan[-1]
    items: list[PlanItem] = [*steps_of(scenario.plan), *nodes_of(scenario.plan)]
    for item in items:
        if not 0 <= item.after_s <= SECONDS_MAX:
            problem = f"{item.after_s:g} is not between 0 and {SECONDS_MAX:g} s (a week)"
            yield (*item.path[:-1], "after_s"), problem
        for path, condition in ((item.path[:-1], item.when), (item.path, getattr(item, "until", None))):
            for problem in _condition(scenario, condition) if condition is not None else ():
                yield (*path, "when" if condition is item.when else "until"), problem
        if isinstance(item, PlanStep):
            yield from _step(scenario, item, is_last=item is last)
        elif isinstance(item.keys, Place):
            for problem in _target(scenario, item.keys.target("leader")):
                yield (*item.path, "leader_of"), problem
        else:
            yield from ((((*item.path, name), problem)) for name, problem in too_long(item.keys))


def _step(scenario: Scenario, step: PlanStep, *, is_last: bool) -> Iterator[Broken]:
    if getattr(step.fault, "for_s", ...) is None and step.until is None:
        why = "the next fault waits until the cluster is whole, which this one would prevent"
        if is_last:
            why = "the plan ends here, so the fault would be healed at once"
        yield step.path, f"for_s is missing: {why}"
    for name, problem in _leadership(scenario, step.fault):
        yield (*step.path, name), problem
    misfit = getattr(step.fault, "misfit", lambda _: None)(scenario.cluster)
    if misfit is not None:
        yield step.path, misfit
    for field in fields(step.fault):  # type: ignore[arg-type]  # every fault is a dataclass: the catalogue saw to it
        target = getattr(step.fault, field.name)
        if isinstance(target, Target):
            for problem in (*_target(scenario, target), *_nobody(scenario, target)):
                yield (*step.path, field.name), problem
        if isinstance(target, Condition):
            for problem in _condition(scenario, target):
                yield (*step.path, field.name), problem


def _condition(scenario: Scenario, condition: Condition) -> Iterator[str]:
    partition = condition.partition
    topic = partition[0] if partition else condition.topic
    if topic is not None and topic not in scenario.topics:
        yield f"no topic is called {shown(topic)}{did_you_mean(topic, scenario.topics)}"
    elif partition is not None and partition[1] >= scenario.topics[partition[0]].partitions:
        last = scenario.topics[partition[0]].partitions - 1
        yield f"{partition[0]}/{partition[1]}: the partitions of {partition[0]} are 0 to {last}"
    if condition.word is Word.FENCED and condition.number is not None:
        brokers = scenario.cluster.broker_ids
        if condition.number not in brokers:
            yield f"there is no broker {condition.number}; there are {', '.join(map(str, brokers))}"
    if condition.within_s is not None and condition.within_s > SECONDS_MAX:
        yield f"within_s: {condition.within_s:g} is above {SECONDS_MAX:g} s (a week)"


def _leadership(scenario: Scenario, fault: object) -> Iterator[tuple[str, str]]:
    """Of a fault that names a topic: its partition, and the broker that is to lead."""
    topic, partition, to = _text(fault, "topic"), getattr(fault, "partition", None), _text(fault, "to")
    if topic is None:
        return
    if topic not in scenario.topics:
        yield "topic", f"no topic is called {shown(topic)}{did_you_mean(topic, scenario.topics)}"
        return
    spec, brokers = scenario.topics[topic], scenario.cluster.broker_ids
    if isinstance(partition, int) and partition >= spec.partitions:
        yield "partition", f"{partition}: the partitions of {topic} are 0 to {spec.partitions - 1}"
    broker = broker_of(to) if to is not None else None
    if broker is not None and broker not in brokers:
        yield "to", f"there is no broker {broker}; there are {', '.join(map(str, brokers))}"
    if to == OTHER and spec.replication_factor == 1:
        yield "to", "with replication_factor 1 there is no other replica"


def _target(scenario: Scenario, target: Target) -> Iterator[str]:
    groups = {group for item in scenario.workloads if isinstance(group := getattr(item.value, "group", None), str)}
    for topic, partition in target.partitions:
        if topic not in scenario.topics:
            yield f"no topic is called {shown(topic)}{did_you_mean(topic, scenario.topics)}"
        elif partition >= scenario.topics[topic].partitions:
            last = scenario.topics[topic].partitions - 1
            yield f"{topic}/{partition}: the partitions of {topic} are 0 to {last}"
    for group in target.groups:
        if group not in groups:
            yield f"no workload reads as group {shown(group)}{did_you_mean(group, groups)}"
    known = {Who.NODE: [node.node_id for node in scenario.cluster.members], Who.BROKER: scenario.cluster.broker_ids}
    for phrase in target.phrases:
        if phrase.number is not None and phrase.number not in known[phrase.kind]:
            yield f"there is no {phrase.kind} {phrase.number}; there are {', '.join(map(str, known[phrase.kind]))}"


def _nobody(scenario: Scenario, target: Target) -> Iterator[str]:
    """Targets whose parts are there, and yet fit nobody whatever the cluster does."""
    who, *filters = target.phrases
    for phrase in filters:
        if phrase.negated and phrase.plain == who.plain:
            yield f"{target.text!r} fits nobody: {str(phrase)!r} rules out all that {who.plain!r} names"
    for phrase in target.phrases:
        led = scenario.topics.get(phrase.partition[0]) if phrase.partition else None
        if phrase.kind is Who.FOLLOWER and led is not None and led.replication_factor == 1:
            yield f"{phrase.plain}: with replication_factor 1 no partition has a follower"
