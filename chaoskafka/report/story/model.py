"""The values of a story: text and page are two renderings of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from chaoskafka.errors import UsageError
from chaoskafka.history.tables import TopicPartition
from chaoskafka.verdict import Answer

_MESSAGE = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]{1,249})/(?P<partition>\d{1,9}):(?P<who>\d{1,9})\.(?P<inc>\d{1,9}):(?P<seq>\d{1,18})"
)


class Suspect(StrEnum):
    """Whose doing it most likely was. The values are words for people."""

    SETTINGS = "settings"  # they permit it
    CLIENT = "client"
    BROKER = "broker"
    ENVIRONMENT = "environment"
    HARNESS = "harness"
    EITHER = "client or broker"  # what was recorded does not tell them apart
    OPEN = "open"  # nothing that was recorded points anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageId:
    """One message, written `orders/0:0.0:11`: partition, producer and its incarnation, sequence."""

    partition: TopicPartition
    producer: int
    incarnation: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.partition}:{self.producer}.{self.incarnation}:{self.sequence}"

    @classmethod
    def parse(cls, text: str) -> MessageId:
        """Raises UsageError."""
        found = _MESSAGE.fullmatch(text)
        if found is None:
            raise UsageError(
                f"{text[:200]!r} names no message; one is written orders/0:0.0:11, as "
                "topic/partition:producer.incarnation:sequence"
            )
        return cls(
            partition=TopicPartition(found["topic"], int(found["partition"])),
            producer=int(found["who"]),
            incarnation=int(found["inc"]),
            sequence=int(found["seq"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that happened, or how things stand. `at_s`: on the timeline's axis; None: at the end, by the audit."""

    at_s: float | None
    what: str
    told: str
    lo_s: float | None = None  # where only an interval is known, its lower end


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of a node's own log."""

    node: str
    at_s: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """`message` None: the story of a check that is about no single message."""

    check: str  # "": nobody's complaint; asked for by name
    answer: Answer | None
    headline: str
    message: MessageId | None
    steps: tuple[Step, ...]
    logs: tuple[LogLine, ...]
    suspect: Suspect
    reason: str
    next: tuple[str, ...]  # commands
    zero: str  # what `at_s` counts from
    expected: bool = False  # it had to go wrong: the run is a control
