"""`run.json`: what a run was, written before it starts and completed as facts become known."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chaoskafka.errors import HistoryError
from chaoskafka.files import Unreadable, read_regular
from chaoskafka.history.stored import parse, typed

FORMAT = 1
HEADER_MAX_BYTES = 64 << 20  # the effective settings of fifty brokers are some 2 MiB
PARTITIONS_MAX = 10_000  # ten times what a scenario may have
MESSAGE_MAX = 500  # characters of a message about a header that may hold anything
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # org.apache.kafka.common.internals.Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """A topic under test. `index` is the number by which payloads and tapes name it."""

    name: str
    index: int
    topic_id: str  # Kafka's UUID: a topic that was deleted and made again is another one
    partitions: int
    replication_factor: int
    min_insync_replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFacts:
    """One workload of the scenario, as it was run."""

    word: str  # "produce" or "consume"
    topic: str
    group: str | None
    workers: tuple[int, ...]  # worker ids
    acks: str | None  # "all", "1", "0"; of producers
    idempotent: bool | None
    rate_per_s: float | None
    client: str  # client profile
    settings: Mapping[str, str] = field(default_factory=dict)  # effective client settings that were set


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """The header of a run directory. `expect` holds the checks as written: [{word: parameters}]."""

    format: int
    run_id: str
    scenario_name: str
    scenario_file: str | None
    scenario: Mapping[str, Any]  # as loaded
    seed: int
    plan: tuple[Mapping[str, Any], ...]  # a tree: what has `steps` is no fault, but what it says of them
    expect: tuple[Mapping[str, Any], ...]
    versions: Mapping[str, str]  # chaoskafka, kafka, librdkafka, python, engine …
    replay: str  # the command that plays this run again
    runtime: str
    clients: str  # where clients stood: client_container, namespace, loopback, thread, host
    clock: str
    wall_minus_monotonic_ns: int  # wall time = monotonic + this, at the start of the run
    nodes: Mapping[str, tuple[str, ...]]  # node id -> roles
    topics: tuple[TopicFacts, ...] = ()
    workloads: tuple[WorkloadFacts, ...] = ()
    broker_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # node id -> effective settings
    limits: Mapping[str, float] = field(default_factory=dict)  # deadlines in force, seconds: recovered_s, drain_s …

    def save(self, run_dir: Path) -> None:
        """Write atomically, so that a killed harness leaves the old header or the new one."""
        path = run_dir / "run.json"
        partial = path.with_suffix(".json.partial")
        partial.write_text(json.dumps(asdict(self), indent=1, sort_keys=True) + "\n")
        partial.replace(path)

    @classmethod
    def load(cls, run_dir: Path) -> RunHeader:
        """Raises HistoryError when it is missing, foreign or of another format."""
        path = run_dir / "run.json"
        try:
            raw = parse(read_regular(path, max_bytes=HEADER_MAX_BYTES))
        except Unreadable as why:
            raise HistoryError(f"{path}: not a run directory: {why}") from why
        except ValueError as broken:
            raise HistoryError(f"{path}: damaged header: {broken}") from broken
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            found = raw.get("format") if isinstance(raw, dict) else type(raw).__name__
            raise HistoryError(f"{path}: format {found!r}; this version reads {FORMAT}"[:MESSAGE_MAX])
        try:
            header = typed(cls, raw)
            _check_topics(header.topics)
        except ValueError as broken:
            raise HistoryError(f"{path}: damaged header: {broken}") from broken
        return header

    @property
    def faults_planned(self) -> int:
        """How many faults the plan holds, all its rounds counted."""
        return sum(map(_faults_of, self.plan))

    def topic(self, name: str) -> TopicFacts:
        """The topic of that name. Raises HistoryError when the run had none."""
        for facts in self.topics:
            if facts.name == name:
                return facts
        raise HistoryError(f"the run had no topic {name!r}; it had {[t.name for t in self.topics]}")


def _faults_of(planned: Any) -> int:
    steps = planned.get("steps") if isinstance(planned, Mapping) else None
    return 1 if steps is None else sum(map(_faults_of, steps))


def _check_topics(topics: tuple[TopicFacts, ...]) -> None:
    """Names become file names, and each partition is looked at by each check. Raises ValueError."""
    for facts in topics:
        if not _NAME.fullmatch(facts.name) or facts.name in (".", ".."):
            raise ValueError(f"topics: {facts.name[:MESSAGE_MAX]!r} is not a topic name")
        if not 1 <= facts.partitions <= PARTITIONS_MAX:
            raise ValueError(f"topics: {facts.name}: {facts.partitions} partitions")
    if len({facts.name for facts in topics}) != len(topics) or len({facts.index for facts in topics}) != len(topics):
        raise ValueError("topics: a name or an index stands there twice")
    if sum(facts.partitions for facts in topics) > PARTITIONS_MAX:
        raise ValueError(f"topics: more than {PARTITIONS_MAX} partitions in all")
