"""`consume`: processes of one consumer group that read a topic; they commit by hand, after the tape is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from chaoskafka.cluster.rights import Right, reading
from chaoskafka.history.header import TopicFacts, WorkloadFacts
from chaoskafka.workloads.settings import HARNESS, Client, consumer_settings, profile_name
from chaoskafka.workloads.topics import check_topic, names_and_partitions
from chaoskafka.workloads.worker.arguments import CONSUME, DRAIN_S, WorkerArguments

_PROCESSES_MAX = 50
_PROTOCOLS = ("classic", "consumer")  # group.protocol; "consumer" is KIP-848


@dataclass(frozen=True, slots=True, kw_only=True)
class Consume:
    """A consumer group, one member per process. Raises ValueError, naming the field."""

    topic: str  # which the group reads
    group: str = "readers"  # its name
    processes: int = 1  # its members
    client: Client = HARNESS  # a profile (harness, librdkafka_default) or librdkafka settings
    protocol: Literal["classic", "consumer"] = "classic"  # group.protocol; consumer is KIP-848
    commit_every_s: float = 1.0  # by hand, after what was read is on the tape
    drain_s: float = DRAIN_S  # for the last commit and the close

    def __post_init__(self) -> None:
        check_topic(self.topic)
        if not self.group:
            raise ValueError("group: is empty")
        if not 1 <= self.processes <= _PROCESSES_MAX:
            raise ValueError(f"processes: {self.processes} is not between 1 and {_PROCESSES_MAX}")
        if self.protocol not in _PROTOCOLS:
            raise ValueError(f"protocol: {self.protocol!r} is not one of {', '.join(_PROTOCOLS)}")
        for name in ("commit_every_s", "drain_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}: {getattr(self, name)} is not above 0")
        consumer_settings(self.client, self.group, self.protocol)

    @property
    def settings(self) -> Mapping[str, str]:
        """The client settings that are set; librdkafka's defaults hold for the others."""
        return consumer_settings(self.client, self.group, self.protocol)

    @property
    def rights(self) -> tuple[Right, ...]:
        """What its workers must be allowed to do."""
        return reading(self.topic, self.group)

    def workers(
        self, *, run_id: str, first_worker: int, topics: Sequence[TopicFacts], bootstrap: str
    ) -> tuple[WorkerArguments, ...]:
        """One worker per process, with ids from `first_worker`. `topics` are the run's.

        Raises ValueError when this workload's topic is none of them.
        """
        names, partitions = names_and_partitions(topics, self.topic)
        return tuple(
            WorkerArguments(
                run_id=run_id,
                worker=worker,
                role=CONSUME,
                topics=names,
                topic=self.topic,
                partitions=partitions,
                settings={
                    **self.settings,
                    "bootstrap.servers": bootstrap,
                    "client.id": f"chaoskafka-{CONSUME}-{worker}",
                },
                drain_s=self.drain_s,
                group=self.group,
                commit_every_s=self.commit_every_s,
            )
            for worker in range(first_worker, first_worker + self.processes)
        )

    def facts(self, workers: Sequence[WorkerArguments]) -> WorkloadFacts:
        """What the run header says of this workload."""
        return WorkloadFacts(
            word=CONSUME,
            topic=self.topic,
            group=self.group,
            workers=tuple(w.worker for w in workers),
            acks=None,
            idempotent=None,
            rate_per_s=None,
            client=profile_name(self.client),
            settings=self.settings,
        )
