"""`produce`: processes that send numbered messages at a steady rate, whether or not they are acknowledged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from chaoskafka.cluster.rights import Right, writing
from chaoskafka.history.header import TopicFacts, WorkloadFacts
from chaoskafka.history.identity import HEAD_BYTES
from chaoskafka.workloads.settings import HARNESS, Client, producer_settings, profile_name
from chaoskafka.workloads.topics import check_topic, names_and_partitions
from chaoskafka.workloads.worker.arguments import DRAIN_S, PRODUCE, WorkerArguments

_RATE_MAX = 100_000.0  # more than one machine's worth of Python; a larger figure is a slip
_MESSAGE_MAX_BYTES = 900_000  # below Kafka's default message.max.bytes (1,048,588) with room for headers and batching
_PROCESSES_MAX = 50
_ACKS = {"all": "all", "1": "1", 1: "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce:
    """An open-loop load: message k is due at k / rate, also while the cluster does not answer.

    `rate_per_s` is the total over processes and partitions; every process sends to every partition in turn.
    Raises ValueError, naming the field.
    """

    topic: str  # to which every process sends, to all partitions in turn
    rate_per_s: float = 600.0  # messages, in total over processes and partitions
    acks: Literal["all", "1", 1] = "all"  # what the client takes for stored; not 0: nothing would be
    client: Client = HARNESS  # a profile (harness, librdkafka_default) or librdkafka settings
    processes: int = 1  # each with one producer
    message_bytes: int = 200  # of each payload
    drain_s: float = DRAIN_S  # for what is under way at the end to be answered

    def __post_init__(self) -> None:
        check_topic(self.topic)
        if not 0 < self.rate_per_s <= _RATE_MAX:
            raise ValueError(f"rate_per_s: {self.rate_per_s} is not above 0 and at most {_RATE_MAX:g}")
        if isinstance(self.acks, bool) or self.acks not in _ACKS:
            raise ValueError(f"acks: {self.acks!r} is not all or 1")
        if not 1 <= self.processes <= _PROCESSES_MAX:
            raise ValueError(f"processes: {self.processes} is not between 1 and {_PROCESSES_MAX}")
        if not HEAD_BYTES <= self.message_bytes <= _MESSAGE_MAX_BYTES:
            raise ValueError(
                f"message_bytes: {self.message_bytes} is not between {HEAD_BYTES} (the head by which a message is"
                f" recognised) and {_MESSAGE_MAX_BYTES}"
            )
        if self.drain_s <= 0:
            raise ValueError(f"drain_s: {self.drain_s} is not above 0")
        producer_settings(self.client, _ACKS[self.acks])

    @property
    def settings(self) -> Mapping[str, str]:
        """The client settings that are set; librdkafka's defaults hold for the others."""
        return producer_settings(self.client, _ACKS[self.acks])

    @property
    def idempotent(self) -> bool:
        return self.settings.get("enable.idempotence") == "true"

    @property
    def rights(self) -> tuple[Right, ...]:
        """What its workers must be allowed to do."""
        return writing(self.topic)

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
                role=PRODUCE,
                topics=names,
                topic=self.topic,
                partitions=partitions,
                settings={
                    **self.settings,
                    "bootstrap.servers": bootstrap,
                    "client.id": f"chaoskafka-{PRODUCE}-{worker}",
                },
                drain_s=self.drain_s,
                rate_per_s=self.rate_per_s / self.processes,
                message_bytes=self.message_bytes,
                acks=_ACKS[self.acks],
            )
            for worker in range(first_worker, first_worker + self.processes)
        )

    def facts(self, workers: Sequence[WorkerArguments]) -> WorkloadFacts:
        """What the run header says of this workload."""
        return WorkloadFacts(
            word=PRODUCE,
            topic=self.topic,
            group=None,
            workers=tuple(w.worker for w in workers),
            acks=_ACKS[self.acks],
            idempotent=self.idempotent,
            rate_per_s=self.rate_per_s,
            client=profile_name(self.client),
            settings=self.settings,
        )
