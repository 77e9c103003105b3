"""WorkerArguments: all that one worker process is told, as one JSON document.

In: a workload's plan. Out: the argument of `python -m chaoskafka.workloads.worker`. docs/worker-protocol.md describes
the document for workers in other languages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from chaoskafka.cluster.security import PLAINTEXT, Security
from chaoskafka.errors import UsageError

PROTOCOL = 1
MODULE = "chaoskafka.workloads.worker"
PRODUCE, CONSUME = "produce", "consume"

SEGMENT_BYTES = 8 * 1024 * 1024  # 104,857 records: at 600 messages a second one segment lasts three minutes
LIMIT_S = 6 * 3600.0  # a worker that everybody forgot ends by itself
DRAIN_S = 30.0  # more than a whole failover with default timeouts (14.5 s measured)
CLOSE_S = 30.0  # librdkafka closes in milliseconds; a close that takes this long hangs


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerArguments:
    """Fields are the JSON keys, but for `security`, which must not stand in a command line.

    `settings` are all client settings, bootstrap servers included, but for those that `security` says.
    """

    protocol: int = PROTOCOL
    run_id: str
    worker: int  # id of the worker, below 65536; of a producer: the producer id in payloads
    incarnation: int = 0
    role: str  # "produce" or "consume"
    topics: tuple[str, ...]  # the run's topics; the position is the topic index of payloads and tapes
    topic: str  # where to produce, or what to read
    partitions: int  # of `topic`
    settings: Mapping[str, str]
    drain_s: float = DRAIN_S  # after SIGTERM: to wait for outstanding deliveries or commits
    close_s: float = CLOSE_S  # then: to close the client; beyond it the worker leaves by force
    limit_s: float = LIMIT_S  # the worker stops by itself after so long
    segment_bytes: int = SEGMENT_BYTES
    # of producers
    rate_per_s: float = 0.0  # of this process, over all partitions
    message_bytes: int = 0
    acks: str = ""  # "all", "1" or "0"
    # of consumers
    group: str | None = None
    commit_every_s: float = 1.0
    security: Security = PLAINTEXT

    @property
    def name(self) -> str:
        """Names the process and its directory under `ops/tapes/`."""
        again = f".{self.incarnation}" if self.incarnation else ""
        return f"{self.role}-{self.worker}{again}"

    @property
    def argv(self) -> tuple[str, ...]:
        """How the worker is started, in a place whose `python` can import chaoskafka."""
        return ("python", "-m", MODULE, self.to_json())

    @property
    def environment(self) -> dict[str, str]:
        """What goes with `argv`: how to get in."""
        return self.security.environment()

    @property
    def topic_index(self) -> int:
        return self.topics.index(self.topic)

    def to_json(self) -> str:
        document = asdict(self)
        del document["security"]
        return json.dumps(document, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> WorkerArguments:
        """Raises UsageError when the document is not one of this protocol version."""
        try:
            raw = json.loads(text)
            arguments = cls(**{**raw, "topics": tuple(raw["topics"])})
        except (ValueError, TypeError, KeyError) as wrong:
            raise UsageError(f"not the arguments of a worker: {wrong}") from wrong
        if arguments.protocol != PROTOCOL:
            raise UsageError(f"worker protocol {arguments.protocol}; this worker speaks {PROTOCOL}")
        if arguments.role not in (PRODUCE, CONSUME) or arguments.topic not in arguments.topics:
            raise UsageError(f"role {arguments.role!r} or topic {arguments.topic!r} makes no sense")
        return arguments

    @classmethod
    def given(cls, argument: str) -> WorkerArguments:
        """From the command line: the document itself, or the path of a file that holds it."""
        if argument.lstrip().startswith("{"):
            return cls.from_json(argument)
        try:
            return cls.from_json(Path(argument).read_text())
        except OSError as unreadable:
            raise UsageError(f"{argument}: {unreadable.strerror}") from unreadable
