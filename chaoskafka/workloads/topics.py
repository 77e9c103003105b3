"""A workload's topic: is its name one, and which of the run's topics is it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chaoskafka.history.header import TopicFacts

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def check_topic(topic: str) -> None:
    """Raises ValueError when Kafka would not take the name (org.apache.kafka.common.internals.Topic)."""
    if not _NAME.fullmatch(topic) or topic in (".", ".."):
        raise ValueError(f"topic: {topic!r} is not a topic name: 1 to 249 letters, digits, '.', '_' and '-'")


def names_and_partitions(topics: Sequence[TopicFacts], topic: str) -> tuple[tuple[str, ...], int]:
    """The names of the run's topics, each at its index, and the number of partitions of `topic`.

    Raises ValueError when `topic` is none of them, or when their indexes are not 0, 1, 2 …
    """
    ordered = sorted(topics, key=lambda facts: facts.index)
    names = tuple(facts.name for facts in ordered)
    if [facts.index for facts in ordered] != list(range(len(ordered))):
        raise ValueError(f"topics: the indexes of {names} are not 0 to {len(ordered) - 1}")
    for facts in ordered:
        if facts.name == topic:
            return names, facts.partitions
    raise ValueError(f"topic: {topic!r} is none of the run's topics {list(names)}")
