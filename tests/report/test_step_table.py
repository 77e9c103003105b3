"""Steps of failovers: read by their keys, whatever their names, and shown beside what the settings imply."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import pytest

from chaoskafka.report import step_table
from chaoskafka.report.as_csv import as_csv
from chaoskafka.report.as_html import as_html
from chaoskafka.report.result import Result, to_plain
from chaoskafka.report.step_table import StepRow, step_groups, step_rows
from chaoskafka.report.whole import whole_run
from tests.histories.copy import Copy
from tests.report.pages import parsed


def span(lo_s: float, hi_s: float) -> dict[str, float]:
    return {"lo_s": lo_s, "hi_s": hi_s}


STEP: dict[str, Any] = {
    "fault": 0, "scope": "partition", "subject": "orders/0", "phase": "elect_it", "from": "fenced", "to": "elected",
    "took": span(0.1, 0.2), "at": span(9.1, 9.2), "bound": span(0.0, 0.5), "dominated_by": "broker.session.timeout.ms",
    "resolution_s": None, "note": None,
}  # fmt: skip
STEPS = [
    STEP,
    {**STEP, "subject": "orders/1", "took": span(0.4, 0.7)},
    {**STEP, "phase": "unheard of", "took": span(0.6, 0.7)},
    {**STEP, "phase": "unseen", "took": None, "note": "nobody looked", "bound": None},
    {**STEP, "fault": None, "scope": "quorum", "phase": "spontaneous"},
    {"phase": "bare"},
]


@pytest.fixture
def rows(result: Result, monkeypatch: pytest.MonkeyPatch) -> list[StepRow]:
    document = {**to_plain(result), "phases": STEPS}
    monkeypatch.setattr(step_table, "to_plain", lambda _: document)
    return step_rows(result)


def test_every_step_is_a_row_and_lies_inside_or_beyond_its_bound(rows: list[StepRow]) -> None:
    assert [(row.name, row.stands) for row in rows] == [
        ("elect it", "inside"),
        ("elect it", "perhaps beyond"),
        ("unheard of", "beyond"),
        ("unseen", ""),
        ("spontaneous", "inside"),
        ("bare", ""),
    ]


def test_of_many_subjects_the_slowest_stands_for_the_step(rows: list[StepRow]) -> None:
    groups = step_groups(rows, 0)
    assert [(group.name, group.slowest.subject, len(group.rows)) for group in groups] == [
        ("elect it", "orders/1", 2),
        ("unheard of", "orders/0", 1),
        ("unseen", "orders/0", 1),
    ]
    assert [group.name for group in step_groups(rows, None)] == ["spontaneous", "bare"]


def test_page_and_table_show_them(rows: list[StepRow], good: Copy) -> None:
    run = replace(whole_run(good.run_dir), steps=tuple(rows))
    text = parsed(as_html([run])).text
    for shown in ("elect it", "slowest of 2", "0.40-0.70", "perhaps beyond", "nobody looked", "Outside of every fault"):
        assert shown in text
    lines = [row for row in csv.DictReader(io.StringIO(as_csv([run]))) if row["figure"] == "elect_it"]
    assert [(row["of"], row["bound_s"], row["set_by"]) for row in lines] == [
        ("partition orders/0", "0.500000", "broker.session.timeout.ms"),
        ("partition orders/1", "0.500000", "broker.session.timeout.ms"),
    ]
