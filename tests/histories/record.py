"""Cut the base of the cases from a real run.

    python -m tests.histories.record runs/leader-killed-fast/latest

In: a run directory that every check passes. Out: `tests/histories/base/`, which replaces an earlier one: what judging
reads of the first partitions of each topic, and no more. Nothing in it is changed, but that workers' counts and the
topics' sizes leave out the partitions that were cut off.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from chaoskafka.history.read import History, open_history
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.tape import Outcome

BASE = Path(__file__).parent / "base"
PARTITIONS = 2  # one whose leader the fault hit and one that it spared; more make the cases slower, not better
PER_PARTITION = ("ops/send", "ops/read", "audit/record", "audit/batch")
WHOLE_RUN = ("poll", "assignment", "commit", "transaction", "error")
FATES = {Outcome.REJECTED: "refused", Outcome.ACKNOWLEDGED: "acknowledged", Outcome.INDETERMINATE: "indeterminate"}


def record(run_dir: Path, base: Path = BASE, partitions: int = PARTITIONS) -> Path:
    """Cut it. Raises HistoryError when `run_dir` is no run directory."""
    history = open_history(run_dir)
    kept = [place for place in history.partitions if place.partition < partitions]
    gone = [place for place in history.partitions if place not in kept]
    shutil.rmtree(base, ignore_errors=True)
    for folder in PER_PARTITION:
        (base / folder).mkdir(parents=True)
        for place in kept:
            _copy(run_dir, base, f"{folder}/{place.file}")
    for table in WHOLE_RUN:
        _copy(run_dir, base, f"ops/{table}.parquet")
    _copy(run_dir, base, "events.jsonl")
    lines = (run_dir / "observations.jsonl").read_text().splitlines(keepends=True)
    (base / "observations.jsonl").write_text(
        "".join(line for line in lines if json.loads(line).get("partition", 0) < partitions)
    )
    _cut(run_dir, base, "run.json", lambda header: _smaller(header, partitions))
    _cut(run_dir, base, "audit/ends.json", lambda ends: [end for end in ends if end["partition"] < partitions])
    fewer = _sent(history, gone)
    _cut(run_dir, base, "ops/workers.json", lambda reports: [_without(report, fewer) for report in reports])
    return base


def _copy(run_dir: Path, base: Path, name: str) -> None:
    if (run_dir / name).exists():
        shutil.copyfile(run_dir / name, base / name)


def _cut(run_dir: Path, base: Path, name: str, change: Callable[[Any], Any]) -> None:
    kept = change(json.loads((run_dir / name).read_text()))
    (base / name).write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def _smaller(header: dict[str, Any], partitions: int) -> dict[str, Any]:
    """Of each broker's hundreds of settings, those that a check reads are enough."""
    name = "unclean.leader.election.enable"
    settings = {n: {name: s[name]} for n, s in header["broker_settings"].items() if name in s}
    topics = [topic | {"partitions": min(topic["partitions"], partitions)} for topic in header["topics"]]
    return header | {"topics": topics, "broker_settings": settings}


def _sent(history: History, gone: list[TopicPartition]) -> dict[tuple[int, int], dict[str, int]]:
    """What each incarnation sent to the partitions that are cut off, by fate."""
    fewer: dict[tuple[int, int], dict[str, int]] = {}
    for place in gone:
        fates = history.sends(place).group_by("producer", "incarnation", "outcome").agg(pl.len())
        for producer, incarnation, outcome, count in fates.iter_rows():
            own = fewer.setdefault((producer, incarnation), dict.fromkeys(FATES.values(), 0))
            own[FATES[outcome]] += count
    return fewer


def _without(report: dict[str, Any], fewer: dict[tuple[int, int], dict[str, int]]) -> dict[str, Any]:
    own = fewer.get((report["worker"], report["incarnation"]), dict.fromkeys(FATES.values(), 0))
    accepted = own["acknowledged"] + own["indeterminate"]
    counts = {**own, "accepted": accepted, "offered": accepted + own["refused"]}
    return report | {name: report[name] - count for name, count in counts.items()}


if __name__ == "__main__":
    record(Path(sys.argv[1]).resolve())
