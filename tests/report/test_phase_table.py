"""The table of phases: every interval of a result, whatever it is called, beside what was allowed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chaoskafka.report import phase_table
from chaoskafka.report.phase_table import PhaseRow, phase_rows, phase_spans
from chaoskafka.report.result import CheckResult, Result, to_plain
from chaoskafka.verdict import Answer


def limited(result: Result, word: str, parameters: dict[str, Any]) -> Result:
    check = CheckResult(
        word=word, parameters=parameters, answer=Answer.PASS, summary="", counted=1, found=0, evidence=()
    )
    return replace(result, checks=(check,))


def test_every_interval_of_the_result_is_a_row(result: Result) -> None:
    rows = phase_rows(result)
    moved = [(row.phase, row.who, row.lo_s, row.hi_s) for row in rows if row.where == "orders/0"]
    assert moved == [
        ("seen_by", "broker 2", 9.114, 9.131),
        ("seen_by", "broker 3", 9.1201, 9.1202),
        ("first_ack", "producer 0", 9.2, 9.21),
        ("first_ack", "producer 1", 9.8, 9.9),
        ("first_read", "group readers", 9.85, 9.95),
        ("unavailable", "producer 1", 9.85, 9.91),
        ("unavailable", "group readers", 9.9, 10.02),
        ("in_sync", "", 17.4, 17.52),
    ]
    assert all(row.word == "kill" and row.fault == 0 for row in rows)
    assert next(row for row in rows if row.phase == "unavailable").more == "resolution 0.05 s"


def test_the_slowest_of_a_figure_is_the_one_that_ends_last(result: Result) -> None:
    spans = {span.name: span for span in phase_spans(phase_rows(result), 0)}
    assert spans["first acknowledgement"].slowest.who == "producer 1"
    assert spans["first acknowledgement"].quickest.who == "producer 0"
    assert phase_spans(phase_rows(result), 1) == []


@pytest.mark.parametrize(
    ("limit_s", "answer"), [(9.95, Answer.PASS), (9.905, Answer.UNKNOWN), (9.0, Answer.FAIL), (9.91, Answer.PASS)]
)
def test_a_limit_is_judged_on_the_interval(limit_s: float, answer: Answer, result: Result) -> None:
    rows = phase_rows(limited(result, "unavailable", {"at_most_s": limit_s}))
    row = next(row for row in rows if row.phase == "unavailable" and row.who == "producer 1")
    assert (row.allowed_s, row.answer) == (limit_s, answer)
    assert next(row for row in rows if row.phase == "in_sync").answer is None


def test_a_figure_that_this_version_does_not_know_is_a_row_too(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    document = to_plain(result)
    (fault, *_) = document["faults"]
    fault["phases"] = [
        {"phase": "detect", "topic": "orders", "partition": 0, "span": {"lo_s": 8.0, "hi_s": 9.0}, "bound_s": 9.5},
        {"name": "fenced", "broker": 1, "lo_s": 1.0, "hi_s": 2.0, "source": "metadata log"},
        {"name": "no interval"},
    ]
    fault["partitions"][0]["told_in"] = {"lo_s": 3.0, "hi_s": 4.0}
    monkeypatch.setattr(phase_table, "to_plain", lambda _: document)
    rows = {row.phase: row for row in phase_rows(result)}
    assert (rows["detect"].where, rows["detect"].allowed_s, rows["detect"].answer) == ("orders/0", 9.5, Answer.PASS)
    assert (rows["fenced"].who, rows["fenced"].hi_s, rows["fenced"].more) == ("broker 1", 2.0, "metadata log")
    assert rows["told_in"].name == "told in"
    assert "no interval" not in rows


def test_a_limit_that_is_no_number_is_none(result: Result) -> None:
    rows: list[PhaseRow] = phase_rows(limited(result, "new_leader", {"within_s": "bound"}))
    assert {row.allowed_s for row in rows} == {None}
