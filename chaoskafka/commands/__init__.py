"""The commands, one module each, with a `main` that returns the exit code.

The command line imports a command's module only when it is called: `--help` and `validate` need no table library, no
client and no engine. This module holds what the command line hands over.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from chaoskafka.fleet.shards import Shard


class RuntimeName(StrEnum):
    """What can run a cluster: the names in `runtimes.ABILITIES`, and one that chooses."""

    DOCKER = "docker"
    PROCESS = "process"
    PROCESS_PLAIN = "process-plain"  # without namespaces; what process becomes where they are forbidden
    FAKE = "fake"
    AUTO = "auto"  # docker if an engine answers, else process


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """`chaoskafka run`, as asked for."""

    scenarios: tuple[str, ...]  # files, directories, patterns, suites, names
    seed: int | None  # None: the scenario's own, else a random one
    repeat: int
    keep: bool
    out: Path
    settings: tuple[str, ...]  # PATH=VALUE
    variable: tuple[str, ...] = ()  # those of $CHAOSKAFKA_SET; `settings` win over them
    timeout_s: float | None  # None: the scenario's own
    runtime: RuntimeName = RuntimeName.DOCKER
    junit: Path | None
    json: Path | None
    jobs: int | None = 1  # runs at once; None: as many as the machine carries
    shard: Shard | None = None  # None: all
    fail_fast: bool = False
    rerun_failed: Path | None = None  # what an earlier call left in `results.json`
    bundle: Path | None = None  # what failures need, in one file
    keep_runs: int | None = None  # of each scenario, the newest; None: all
    baseline: Path | None = None  # failover times that `fail_if` compares with
    fail_if: tuple[str, ...] = ()  # rules on failover times


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    """`chaoskafka watch`, as asked for."""

    bootstrap: tuple[str, ...]  # HOST:PORT
    command: tuple[str, ...]
    security: Path | None  # a file of client settings; None: in the clear
    bites_when: str  # conditions, as a scenario writes them
    heals_when: str
    topic: str | None  # None: a name that nobody else has
    rate_per_s: float
    run_s: float
    out: Path
    junit: Path | None
    json: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """`chaoskafka check`, as asked for."""

    run_dirs: tuple[Path, ...]
    junit: Path | None
    json: Path | None


class ReportFormat(StrEnum):
    """What `chaoskafka report` can write."""

    HTML = "html"
    MARKDOWN = "markdown"
    CSV = "csv"
    TRACE = "trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """`chaoskafka report`, as asked for. `out` None: beside the run, or to stdout, as the format has it."""

    run_dirs: tuple[Path, ...]
    format: ReportFormat
    out: Path | None
