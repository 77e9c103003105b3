"""Whom a fault hits, for tests: helpers that make targets. In: topics, groups. Out: the `Target` a scenario writes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from chaoskafka.cluster.conditions import Condition
from chaoskafka.cluster.targets import Phrase, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of one test. `name` is Kafka's; `asked` is what the test called it: on a cluster that several tests share
    each has topics of its own."""

    asked: str
    name: str
    partitions: int

    def __str__(self) -> str:
        return self.name


def leader_of(topic: Topic | str, partition: int = 0, *, but: str = "") -> Target:
    """The broker that leads a partition when the fault strikes. `but`: a filter, such as `not active controller`."""
    return _target(f"leader of {topic}/{partition}", but)


def follower_of(topic: Topic | str, partition: int = 0, *, but: str = "") -> Target:
    """A replica of a partition that does not lead it; one of several by the run's seed."""
    return _target(f"follower of {topic}/{partition}", but)


def active_controller(*, but: str = "") -> Target:
    """The node that leads the metadata quorum."""
    return _target("active controller", but)


def coordinator_of(group: str, *, but: str = "") -> Target:
    """The broker that coordinates a consumer group."""
    return _target(f"group coordinator of {group}", but)


@dataclass(slots=True)
class Names:
    """What a test calls its topics and groups, and Kafka's names for them."""

    topics: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)

    def topic(self, asked: str) -> str:
        """Kafka's name; one that is not known stays as it is."""
        return self.topics.get(asked, asked)

    def target(self, target: Target | str) -> Target:
        """The same target with Kafka's names. Raises ValueError, saying what is allowed, when the text is no target."""
        parsed = target if isinstance(target, Target) else Target.parse(target)
        return Target(", ".join(str(self._phrase(phrase)) for phrase in parsed.phrases))

    def condition(self, condition: Condition) -> Condition:
        """The same condition with Kafka's names."""
        at = condition.partition
        partition = None if at is None else (self.topic(at[0]), at[1])
        topic = None if condition.topic is None else self.topic(condition.topic)
        return replace(condition, partition=partition, topic=topic)

    def _phrase(self, phrase: Phrase) -> Phrase:
        if phrase.partition is not None:
            return replace(phrase, partition=(self.topic(phrase.partition[0]), phrase.partition[1]))
        if phrase.group is not None:
            return replace(phrase, group=self.groups.get(phrase.group, phrase.group))
        return phrase


def _target(text: str, but: str) -> Target:
    return Target.parse(f"{text}, {but}" if but else text)
