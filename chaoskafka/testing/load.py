"""What traffic there is, in the words of the workloads `produce` and `consume`. In: keywords. Out: a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.errors import UsageError
from chaoskafka.scenario.bind import BindError, bind
from chaoskafka.scenario.catalogue import Kind, find
from chaoskafka.scenario.model import DEFAULT_EXPECT, Named, Scenario
from chaoskafka.testing.trial import Setting
from chaoskafka.workloads.consume import Consume
from chaoskafka.workloads.produce import Produce
from chaoskafka.workloads.settings import HARNESS, Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Keywords of `kafka_cluster.traffic` and of the marker `kafka_traffic`. Raises ValueError, naming the field."""

    rate_per_s: float = 600.0  # messages to each topic, in total over producers and partitions
    acks: Any = "all"
    client: Client = HARNESS
    message_bytes: int = 200
    producers: int = 1  # processes for each topic
    consumers: int = 1  # of one group, for each topic; 0: nobody reads
    group: str = "readers"
    protocol: Any = "classic"

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Raises UsageError."""
        try:
            load = cls(**given)
            load._workloads({"topic": TopicSpec()}, load.group)
        except (TypeError, ValueError) as wrong:
            raise UsageError(f"traffic: {str(wrong).removeprefix('Load.__init__() ')}") from wrong
        return load

    def scenario(
        self, setting: Setting, cluster: ClusterSpec, topics: Mapping[str, TopicSpec], *, group: str
    ) -> Scenario:
        """The test as a scenario, which so far plays nothing."""
        words = [word for word in DEFAULT_EXPECT if self.consumers or word != "all_delivered"]
        return Scenario(
            name=setting.name,
            file=None,
            title=setting.title,
            question="",
            cluster=cluster,
            topics=topics,
            workloads=self._workloads(topics, group),
            plan=(),
            expect=tuple(Named(word=word, value=find(Kind.CHECK, word)()) for word in words),
        )

    def _workloads(self, topics: Mapping[str, TopicSpec], group: str) -> tuple[Named[object], ...]:
        found: list[Named[object]] = []
        for name in topics:
            produce = Produce(
                topic=name,
                rate_per_s=self.rate_per_s,
                acks=self.acks,
                client=self.client,
                processes=self.producers,
                message_bytes=self.message_bytes,
            )
            found.append(Named(word="produce", value=produce))
            if self.consumers:
                consume = Consume(topic=name, group=group, processes=self.consumers, protocol=self.protocol)
                found.append(Named(word="consume", value=consume))
        return tuple(found)


def checks(asked: Mapping[str, Any] | str) -> list[Named[Any]]:
    """One check as `verify` takes it: a word, or words with their parameters. Raises UsageError."""
    items = {asked: {}} if isinstance(asked, str) else dict(asked)
    found: list[Named[Any]] = []
    for word, parameters in items.items():
        try:
            found.append(Named(word=word, value=bind(find(Kind.CHECK, word), parameters or {})))
        except (LookupError, BindError) as wrong:
            raise UsageError(f"verify: {word}: {wrong}") from wrong
    return found
