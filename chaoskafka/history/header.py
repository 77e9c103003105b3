"""`run.json`: what a run was, written before it starts and completed as facts become known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chaoskafka.errors import HistoryError

FORMAT = 1


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
    plan: tuple[Mapping[str, Any], ...]
    expect: tuple[Mapping[str, Any], ...]
    versions: Mapping[str, str]  # chaoskafka, kafka, librdkafka, python, engine …
    replay: str  # the command that plays this run again
    runtime: str
    clients: str  # where clients stood: client_container, namespace, host
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
            raw = json.loads(path.read_text())
        except (OSError, ValueError) as broken:
            raise HistoryError(f"{path}: not a run directory: {broken}") from broken
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            found = raw.get("format") if isinstance(raw, dict) else type(raw).__name__
            raise HistoryError(f"{path}: format {found!r}; this version reads {FORMAT}")
        try:
            return cls(
                **{
                    **raw,
                    "plan": tuple(raw["plan"]),
                    "expect": tuple(raw["expect"]),
                    "nodes": {node: tuple(roles) for node, roles in raw["nodes"].items()},
                    "topics": tuple(TopicFacts(**t) for t in raw["topics"]),
                    "workloads": tuple(
                        WorkloadFacts(**{**w, "workers": tuple(w["workers"])}) for w in raw["workloads"]
                    ),
                }
            )
        except (KeyError, TypeError) as broken:
            raise HistoryError(f"{path}: damaged header: {broken}") from broken

    def topic(self, name: str) -> TopicFacts:
        """The topic of that name. Raises HistoryError when the run had none."""
        for facts in self.topics:
            if facts.name == name:
                return facts
        raise HistoryError(f"the run had no topic {name!r}; it had {[t.name for t in self.topics]}")
