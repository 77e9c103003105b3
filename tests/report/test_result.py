"""`result.json` fits its schema, comes back as it went, and is refused when it does not fit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from chaoskafka.errors import HistoryError
from chaoskafka.report.result import CheckResult, Result, from_json, read_result, result_schema, to_plain
from chaoskafka.timing.times import BrokerSight, ClientSight, FaultTimes, Gap, Interval, PartitionTimes, PhaseTime


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(result_schema())


def test_a_result_fits_the_schema_and_comes_back(result: Result, tmp_path: Path) -> None:
    jsonschema.validate(json.loads(result.to_json()), result_schema())
    assert from_json(result.to_json()) == result
    assert read_result(result.save(tmp_path)) == result
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        (Result, None),
        (CheckResult, "check"),
        (FaultTimes, "fault"),
        (PartitionTimes, "partition"),
        (Interval, "interval"),
        (Gap, "gap"),
        (ClientSight, "sight"),
        (PhaseTime, "phase"),
    ],
)
def test_the_schema_names_every_field(kind: Any, place: str | None) -> None:
    schema: Mapping[str, Any] = result_schema() if place is None else result_schema()["$defs"][place]
    renamed = {"since": "from", "until": "to"}  # no names for Python
    names = {renamed.get(field.name, field.name) for field in fields(kind)}
    assert set(schema["properties"]) == set(schema["required"]) == names


def test_the_schema_names_every_field_of_a_broker_s_sight() -> None:
    items = result_schema()["$defs"]["partition"]["properties"]["seen_by"]["items"]
    assert set(items["required"]) == {field.name for field in fields(BrokerSight)}


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"answer": "maybe"},
        {"seed": -1},
        {"seed": "7"},
        {"checks": []},
        {"unheard_of": 1},
        {"faults": [{"index": 0}]},
        {"duration_s": "long"},
    ],
)
def test_what_does_not_fit_is_refused(result: Result, change: dict[str, Any]) -> None:
    with pytest.raises(HistoryError, match="not a result"):
        from_json(json.dumps({**to_plain(result), **change}))


@pytest.mark.parametrize("key", [field.name for field in fields(Result)])
def test_nothing_may_be_missing(result: Result, key: str) -> None:
    document = to_plain(result)
    del document[key]
    with pytest.raises(HistoryError, match=key):
        from_json(json.dumps(document))


def test_files_that_are_no_results(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="no result"):
        read_result(tmp_path / "result.json")
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(HistoryError, match="not JSON"):
        read_result(tmp_path / "result.json")


def test_a_figure_that_json_cannot_hold_is_never_written(result: Result) -> None:
    with pytest.raises(ValueError, match="JSON"):
        replace(result, duration_s=float("nan")).to_json()
