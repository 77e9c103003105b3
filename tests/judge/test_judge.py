"""A run directory is judged from nothing but itself, and the same way every time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from chaoskafka import judge as judging
from chaoskafka.errors import HistoryError
from chaoskafka.history.header import RunHeader
from chaoskafka.history.read import History, open_history
from chaoskafka.judge import judge
from chaoskafka.phases import Phase
from chaoskafka.report.result import RESULT_FILE, CheckResult, Result, read_result
from chaoskafka.scenario.model import Named
from chaoskafka.verdict import Answer, Verdict

Edit = Callable[[dict[str, Any]], dict[str, Any] | None]


def edit_events(run_dir: Path, edit: Edit) -> None:
    path = run_dir / "events.jsonl"
    edited = [edit(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(event) + "\n" for event in edited if event is not None))


def check(result: Result, word: str) -> CheckResult:
    return next(found for found in result.checks if found.word == word)


def ask_little(run_dir: Path) -> None:
    """One cheap check, for tests of what surrounds the checks."""
    replace(RunHeader.load(run_dir), expect=({"accounted": {}},)).save(run_dir)


def lose_one_record(run_dir: Path) -> None:
    path = run_dir / "audit/record/orders-0.parquet"
    pl.read_parquet(path).filter(pl.col("offset") != 40).write_parquet(path)


def test_a_clean_run_passes_every_check_and_is_written_down(run_dir: Path) -> None:
    result = judge(run_dir)
    assert {found.word: found.answer for found in result.checks if found.answer is not Answer.PASS} == {}
    assert result.answer is Answer.PASS
    assert check(result, "took_effect").counted == 1
    assert len(result.faults) == 1
    assert result.troubles == ()
    assert read_result(run_dir / RESULT_FILE) == result


def test_a_lost_message_fails_whatever_else_passes(run_dir: Path) -> None:
    lose_one_record(run_dir)
    result = judge(run_dir)
    assert result.answer is Answer.FAIL
    lost = check(result, "no_lost_acknowledged")
    assert (lost.answer, lost.found, len(lost.evidence)) == (Answer.FAIL, 1, 1)


def test_an_earlier_result_is_never_read(run_dir: Path) -> None:
    first = judge(run_dir)
    (run_dir / RESULT_FILE).write_text("lies")
    assert judge(run_dir) == first
    (run_dir / RESULT_FILE).unlink()
    lose_one_record(run_dir)
    assert judge(run_dir).answer is Answer.FAIL


def test_judging_again_after_the_run_has_ended_gives_the_same_result(run_dir: Path) -> None:
    first = judge(run_dir)
    with (run_dir / "events.jsonl").open("a") as events:
        for phase in (Phase.JUDGE, Phase.REPORT):
            line = {"at_ns": 10**15, "event": "phase", "number": int(phase), "name": phase.title, "state": "begin"}
            events.write(json.dumps(line) + "\n")
    assert judge(run_dir) == first


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashing:
    """A check with a bug."""

    def check(self, history: History) -> Verdict:
        raise ZeroDivisionError(f"on {len(history.partitions)} partitions")


def test_a_check_that_crashes_is_unknown_with_its_traceback(run_dir: Path) -> None:
    crashed = judging._ask(Named(word="crashing", value=Crashing()), open_history(run_dir))
    assert crashed.answer is Answer.UNKNOWN
    assert "ZeroDivisionError" in crashed.summary
    assert "Traceback" in crashed.evidence[0]["traceback"]


def test_took_effect_cannot_be_left_out(run_dir: Path) -> None:
    ask_little(run_dir)
    edit_events(run_dir, lambda event: event if event.get("state") != "active" else {**event, "proof": None})
    result = judge(run_dir)
    assert [found.word for found in result.checks] == ["accounted", "took_effect", "completed"]
    assert check(result, "took_effect").answer is Answer.UNKNOWN
    assert result.answer is Answer.UNKNOWN


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase <= Phase.AUDIT])
def test_a_phase_that_failed_or_never_ended_leaves_the_answer_unknown(run_dir: Path, phase: Phase) -> None:
    def fail(event: dict[str, Any]) -> dict[str, Any]:
        ends = event.get("number") == phase and event["state"] == "end"
        return {**event, "error": "WaitTimeout: too late"} if ends else event

    ask_little(run_dir)
    edit_events(run_dir, fail)
    failed = check(judge(run_dir), "completed")
    assert failed.answer is Answer.UNKNOWN
    assert "WaitTimeout: too late" in failed.summary
    edit_events(run_dir, lambda event: None if "error" in event else event)
    assert "it never ended" in check(judge(run_dir), "completed").summary


def test_a_run_that_never_came_to_the_audit_is_unknown(run_dir: Path) -> None:
    ask_little(run_dir)
    edit_events(run_dir, lambda event: None if event.get("number") == Phase.AUDIT else event)
    assert "never got so far" in check(judge(run_dir), "completed").summary


def test_what_comes_after_the_audit_changes_no_answer(run_dir: Path) -> None:
    edit_events(run_dir, lambda event: {**event, "error": "x"} if event.get("number") == Phase.REMOVE else event)
    assert judge(run_dir).answer is Answer.PASS


def test_the_numbers_of_phases_are_those_of_the_run() -> None:
    assert (judging.AUDIT_PHASE, judging.JUDGE_PHASE) == (Phase.AUDIT, Phase.JUDGE)


def test_troubles_of_the_run_are_told(run_dir: Path) -> None:
    ask_little(run_dir)
    line = {"at_ns": 0, "event": "error", "where": "audit", "type": "WaitTimeout", "text": "waited"}
    (run_dir / "events.jsonl").write_text(json.dumps(line) + "\n" + (run_dir / "events.jsonl").read_text())
    assert judge(run_dir).troubles == ("audit: WaitTimeout: waited",)


@pytest.mark.parametrize(
    "expect", [({"no_such_check": {}},), ({"accounted": {"no_such": 1}},), ({"a": {}, "b": {}},), ("accounted",)]
)
def test_a_question_that_cannot_be_read_is_an_error_and_not_silence(run_dir: Path, expect: Any) -> None:
    replace(RunHeader.load(run_dir), expect=expect).save(run_dir)
    with pytest.raises(HistoryError, match="expect"):
        judge(run_dir)


def test_a_foreign_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="not a run directory"):
        judge(tmp_path)
