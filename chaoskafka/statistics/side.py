"""One side of a comparison: the samples of some runs, and what they were made with. Runs, or a file that was saved.

In: run directories, directories that hold some, or a baseline. Out: a `Side`, to and from JSON. Raises HistoryError.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from chaoskafka.errors import HistoryError
from chaoskafka.files import Unreadable, read_regular
from chaoskafka.history.header import RunHeader
from chaoskafka.history.stored import parse, typed
from chaoskafka.report.result import RESULT_FILE, Result, read_result
from chaoskafka.report.settings_table import settings_table
from chaoskafka.scenario.model import ALWAYS_ON
from chaoskafka.statistics.samples import Metric, metrics
from chaoskafka.verdict import Answer

FORMAT = 1
KIND = "chaoskafka failover times"
BASELINE_MAX_BYTES = 64 << 20  # ten thousand runs of some thirty steps
RUNS_MAX = 10_000
_DEPTH = ("", "*/", "*/*/")  # a run, the runs of a scenario, the runs of many
_HEADER = "run.json"
_OF_A_NODE = frozenset({"advertised.listeners", "broker.id", "node.id"})  # another one on each, and in each run


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """A run that gives no sample, and why."""

    run: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """`made_with`: versions, runtime, the effective settings that all nodes of a run share, those of its clients; each
    with every value that the runs had."""

    name: str
    runs: int
    unmeasured: tuple[Unmeasured, ...]
    made_with: Mapping[str, tuple[str, ...]]
    metrics: Mapping[str, Metric]

    def save(self, path: Path) -> None:
        """Raises OSError."""
        document = {"format": FORMAT, "kind": KIND, "side": asdict(self)}
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        partial.replace(path)


def load_side(paths: Sequence[Path]) -> Side:
    """A baseline, or all runs that the paths are or hold. Blocks while they are read.

    Raises HistoryError: nothing there, damaged, or a run and a baseline together.
    """
    if len(paths) == 1 and os.path.isfile(paths[0]):  # noqa: PTH113 - Path's raises for what cannot be a name
        return _baseline(paths[0])
    return side_of(
        [run for path in paths for run in _runs(path)],
        name=str(paths[0]) if len(paths) == 1 else f"{len(paths)} places",
    )


def side_of(run_dirs: Sequence[Path], *, name: str) -> Side:
    """Runs that timed no failover of Kafka give no samples, and are named. Blocks while results are read.

    Raises HistoryError when there is no run, or one of them cannot be read.
    """
    if not run_dirs:
        raise HistoryError(f"{name}: no run directory is there")
    if len(run_dirs) > RUNS_MAX:
        raise HistoryError(f"{name}: {len(run_dirs)} runs; at most {RUNS_MAX}")
    results: list[Result] = []
    seen: set[str] = set()
    unmeasured: list[Unmeasured] = []
    made_with: dict[str, set[str]] = {}
    for run_dir in run_dirs:
        if not (run_dir / RESULT_FILE).exists():
            unmeasured.append(Unmeasured(run=str(run_dir), why="not judged"))
            continue
        result = read_result(run_dir / RESULT_FILE)
        if result.run_id in seen:
            continue
        if why := _unmeasured(result):
            unmeasured.append(Unmeasured(run=str(run_dir), why=why))
            continue
        seen.add(result.run_id)
        results.append(result)
        for key, value in _facts(RunHeader.load(run_dir), result):
            made_with.setdefault(key, set()).add(value)
    return Side(
        name=name,
        runs=len(results),
        unmeasured=tuple(unmeasured),
        made_with={key: tuple(sorted(values)) for key, values in sorted(made_with.items())},
        metrics=metrics(results),
    )


def _unmeasured(result: Result) -> str:
    """A rehearsal times nothing of Kafka; what else failed takes nothing from when things happened."""
    if result.is_rehearsal:
        return "a rehearsal: no Kafka was there"
    if any(check.word == ALWAYS_ON and check.answer is not Answer.PASS for check in result.checks):
        return "its faults were not all seen to bite and to heal"
    return "" if result.phases else "no step of a failover was timed"


def _facts(header: RunHeader, result: Result) -> Iterable[tuple[str, str]]:
    yield from result.versions.items()
    yield "runtime", result.runtime
    yield "clients stand in", result.clients
    table = settings_table(header)
    yield from (*table.telling, *table.others, *(pair for pair in table.differ if pair[0] not in _OF_A_NODE))
    yield from ((f"topic {name}", facts) for name, facts in table.topics)
    yield "nodes", str(len(header.nodes))
    yield "plan", json.dumps(header.scenario.get("plan"), sort_keys=True)
    for work in header.workloads:
        for name, value in work.settings.items():
            yield f"{work.word} {work.topic}: {name}", value
        if work.rate_per_s is not None:
            yield f"{work.word} {work.topic}: rate_per_s", f"{work.rate_per_s:g}"


def _runs(path: Path) -> list[Path]:
    """Raises HistoryError when it is, and holds, no run directory."""
    for depth in _DEPTH:
        try:
            every = sorted(header.parent for header in path.glob(depth + _HEADER))
        except (OSError, ValueError) as refused:
            why = getattr(refused, "strerror", None) or "no file can have such a name"
            raise HistoryError(f"{path}: cannot be looked through: {why}") from refused
        # A scenario's directory holds the link `latest`, too.
        if found := [run_dir for run_dir in every if not depth or not run_dir.is_symlink()]:
            return found
    raise HistoryError(f"{path}: neither a run directory, nor a directory that holds some, nor a baseline")


def _baseline(path: Path) -> Side:
    try:
        raw = parse(read_regular(path, max_bytes=BASELINE_MAX_BYTES))
    except Unreadable as why:
        raise HistoryError(f"{path}: cannot be read: {why}") from why
    except ValueError as broken:
        raise HistoryError(f"{path}: not JSON: {broken}") from broken
    if not isinstance(raw, dict) or raw.get("kind") != KIND or raw.get("format") != FORMAT:
        raise HistoryError(f"{path}: not a baseline of this format: `chaoskafka stats RUNS… --save FILE` writes one")
    try:
        return typed(Side, raw.get("side"))
    except ValueError as broken:
        raise HistoryError(f"{path}: damaged: {broken}") from broken
