"""One run of many: what was asked, how it ended; and the file that holds all of them.

In: runs. Out: `results.json`, which `--rerun-failed` takes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoskafka.ending import EXIT_OF
from chaoskafka.errors import ExitCode, UsageError
from chaoskafka.files import Unreadable, read_regular
from chaoskafka.report.as_junit import Unjudged
from chaoskafka.report.result import Result
from chaoskafka.scenario.model import Scenario

RESULTS_FILE = "results.json"
FORMAT = 1
RESULTS_MAX_BYTES = 16 << 20  # a thousand scenarios, played a thousand times at most, are far below
NOT_PLAYED = "not_played"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One run that is to be played. `name`: how the scenario is called on the command line, to call it again."""

    name: str
    path: Path
    scenario: Scenario
    seed: int

    @property
    def key(self) -> tuple[str, int]:
        """By which runs of one call are told apart."""
        return self.name, self.seed

    @property
    def label(self) -> str:
        """For people, where several runs are told of."""
        return f"{self.name} seed {self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one run ended. `code` None: it was not played. `run_dir` None: it never got as far as a directory."""

    asked: Asked
    code: ExitCode | None
    run_dir: Path | None = None
    result: Result | None = None
    duration_s: float | None = None  # all of it, start and judging included
    problem: str = ""

    @property
    def word(self) -> str:
        return NOT_PLAYED if self.code is None else self.code.name.lower()

    @property
    def ended_otherwise(self) -> bool:
        """There is no result, or the run did not end as its result says: a removal failed, say. Never a pass."""
        return self.result is None or self.code is not EXIT_OF[self.result.answer]

    @property
    def unjudged(self) -> Unjudged:
        """For reports, where the result, if any, is not all."""
        return Unjudged(name=self.asked.scenario.name, problem=self.problem or f"not judged: {self.word}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What is to be played again: scenario, seed, and the values that were set from outside."""

    runs: tuple[tuple[str, int], ...]
    settings: tuple[str, ...]


def save_results(path: Path, ended: Sequence[Ended], settings: Sequence[str]) -> None:
    """Write all runs of a call, atomically. `settings`: PATH=VALUE, the later win. Raises OSError."""
    runs = [
        {
            "scenario": one.asked.name,
            "file": str(one.asked.path),
            "seed": one.asked.seed,
            "ended": one.word,
            "exit_code": one.code,
            "run_dir": str(one.run_dir) if one.run_dir is not None else None,
            "duration_s": None if one.duration_s is None else round(one.duration_s, 3),
            "problem": one.problem,
        }
        for one in ended
    ]
    document = {"format": FORMAT, "settings": list(settings), "runs": runs}
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8", errors="backslashreplace")
    partial.replace(path)


def read_failed(path: Path) -> Again:
    """The runs of an earlier call that did not pass, those that were not played among them.

    Raises UsageError: no such file, or none that `run` has written.
    """
    where = f"--rerun-failed {path}"
    try:
        document = json.loads(read_regular(path, max_bytes=RESULTS_MAX_BYTES))
    except Unreadable as why:
        raise UsageError(f"{where}: cannot be read: {why}") from why
    except ValueError as broken:
        raise UsageError(f"{where}: not JSON: {broken}") from broken
    if not isinstance(document, dict) or document.get("format") != FORMAT or not isinstance(document.get("runs"), list):
        raise UsageError(f"{where}: not a {RESULTS_FILE} of this format: `chaoskafka run` writes it beside the runs")
    settings = document.get("settings", [])
    if not isinstance(settings, list) or not all(isinstance(text, str) for text in settings):
        raise UsageError(f"{where}: settings: expected a list of PATH=VALUE")
    runs = [_run(where, i, run) for i, run in enumerate(document["runs"])]
    failed = tuple((scenario, seed) for ended, scenario, seed in runs if ended != "pass")
    return Again(runs=failed, settings=tuple(settings))


def _run(where: str, i: int, run: Any) -> tuple[str, str, int]:
    wanted = {"ended": str, "scenario": str, "seed": int}
    for key, kind in wanted.items():
        if not isinstance(run, dict) or not isinstance(run.get(key), kind):
            raise UsageError(f"{where}: runs[{i}].{key}: missing, or no {'number' if kind is int else 'text'}")
    return run["ended"], run["scenario"], run["seed"]
