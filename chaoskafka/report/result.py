"""`result.json`: the answer of one run, typed and versioned; every report is a pure function of it.

In: what the judge found. Out: a `Result`, to and from JSON that fits `result.schema.json`. Imports no table library, no
client and no engine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.preconf.json import make_converter

from chaoskafka.errors import HistoryError
from chaoskafka.files import Unreadable, read_regular
from chaoskafka.timing.times import FaultTimes, PhaseTime
from chaoskafka.verdict import Answer
from chaoskafka.visible import visible

FORMAT = 1
RESULT_FILE = "result.json"
RESULT_MAX_BYTES = 64 << 20  # evidence and steps are bounded: a result of hundreds of faults has a few MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check: its word, the parameters that it was asked with, and its verdict."""

    word: str
    parameters: Mapping[str, Any]  # JSON values
    answer: Answer
    summary: str
    counted: int  # how many things it looked at
    found: int  # how many of them are anomalies; exact, however little evidence is kept
    evidence: tuple[Mapping[str, Any], ...]  # JSON values, the most telling first, bounded
    consequence_of: str | None = None  # the word of the failing check that explains all that this one found
    expected: bool = False  # it failed as it must, in a control: that does not count against the run


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The answer of one run. `answer`: the worst of its checks that count, which is fail, then unknown, then pass."""

    format: int = FORMAT
    judged_by: str  # version of chaoskafka that judged, which need not be the one that ran
    run_id: str
    scenario: str
    title: str
    question: str
    seed: int
    replay: str
    started_at: str | None  # wall time of the first event, ISO 8601; for people
    duration_s: float | None  # from the first event to the last, before judging
    runtime: str
    clients: str
    versions: Mapping[str, str]
    answer: Answer
    checks: tuple[CheckResult, ...]
    faults: tuple[FaultTimes, ...]  # failover times; empty when none were to be had, and then a trouble says why
    troubles: tuple[str, ...]  # what went wrong in the run itself, bounded
    phases: tuple[PhaseTime, ...] = ()  # each failover step by step; bounded

    @property
    def is_rehearsal(self) -> bool:
        """Nothing in it says anything about Kafka, since none was there."""
        return self.runtime == "fake"

    def to_json(self) -> str:
        """The document, one line per value, the same for the same result."""
        return json.dumps(to_plain(self), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    def save(self, run_dir: Path) -> Path:
        """Write `result.json` atomically; returns its path. Raises OSError."""
        path = run_dir / RESULT_FILE
        partial = path.with_suffix(".json.partial")
        # A lone surrogate cannot be encoded; the escape that takes its place means the same to JSON.
        partial.write_text(self.to_json(), encoding="utf-8", errors="backslashreplace")
        return partial.replace(path)


def to_plain(result: Result) -> dict[str, Any]:
    """The result as JSON values."""
    plain = _CONVERTER.unstructure(result)
    assert isinstance(plain, dict)
    return plain


def shown(result: Result) -> Result:
    """The same result with nothing in it that would move a cursor: run directories may come from anywhere.

    What went wrong and evidence (tracebacks, logs) keep their line breaks; a title with some could pass for a verdict.
    """
    plain = to_plain(result)
    kept = {"checks", "troubles"}
    return _CONVERTER.structure({k: _visible(v, "\n" if k in kept else "") for k, v in plain.items()}, Result)


def _visible(value: Any, keep: str) -> Any:
    if isinstance(value, str):
        return visible(value, keep=keep)
    if isinstance(value, dict):
        return {visible(key): _visible(below, keep) for key, below in value.items()}
    return [_visible(below, keep) for below in value] if isinstance(value, list | tuple) else value


def read_result(path: Path) -> Result:
    """Read a stored result. Raises HistoryError: missing, of another format, or not what the schema says."""
    try:
        return from_json(read_regular(path, max_bytes=RESULT_MAX_BYTES).decode("utf-8", "replace"))
    except Unreadable as why:
        raise HistoryError(f"{path}: no result: {why}") from why
    except HistoryError as broken:
        raise HistoryError(f"{path}: {broken}") from broken


def from_json(text: str) -> Result:
    """Raises HistoryError when `text` is no result of this format."""
    try:
        document = json.loads(text)
    except ValueError as broken:
        raise HistoryError(f"not JSON: {broken}") from broken
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - a fifth of all imports of `check`, which reads none
    from jsonschema.exceptions import best_match  # noqa: PLC0415

    wrong = best_match(Draft202012Validator(result_schema()).iter_errors(document))
    if wrong is not None:
        raise HistoryError(f"not a result: {wrong.json_path}: {wrong.message[:500]}")
    return _CONVERTER.structure(document, Result)


@cache
def result_schema() -> Mapping[str, Any]:
    """The JSON Schema of `result.json`, as shipped."""
    schema = json.loads(files("chaoskafka.report").joinpath("result.schema.json").read_text(encoding="utf-8"))
    assert isinstance(schema, dict)
    return schema


_CONVERTER = make_converter()
_FROM, _TO = override(rename="from"), override(rename="to")  # `from` is no name for Python
_CONVERTER.register_unstructure_hook(PhaseTime, make_dict_unstructure_fn(PhaseTime, _CONVERTER, since=_FROM, until=_TO))
_CONVERTER.register_structure_hook(PhaseTime, make_dict_structure_fn(PhaseTime, _CONVERTER, since=_FROM, until=_TO))
