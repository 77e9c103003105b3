"""Events: what is written is read; a cut last line is left out, anything else that is no event is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.errors import HistoryError
from chaoskafka.history.events import EventLog, fault_windows, read_events


def test_a_fault_is_read_back_as_one_window(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as events:
        events.write("fault", fault=0, word="kill", state="beginning")
        active = {"targets": [2], "acted_ns": 7, "evidence": {"target": "broker 2"}, "proof": {"knock": "refused"}}
        events.write("fault", fault=0, word="kill", state="active", **active)
        events.write("fault", fault=0, word="kill", state="healing")
        events.write("fault", fault=0, word="kill", state="healed", proof={"knock": "answered"})
        events.write("fault", fault=1, word="kill", state="beginning")
        events.write("fault", fault=1, word="kill", state="failed", error="no bite")
    first, second = fault_windows(read_events(path))
    assert (first.targets, first.acted_ns, first.proof) == ((2,), 7, {"knock": "refused"})
    assert first.heal_proof == {"knock": "answered"}
    assert first.healed_ns is not None
    assert (second.proof, second.failure, second.active_ns) == (None, "no bite", None)


def test_a_line_cut_off_by_a_crash_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"at_ns": 1, "event": "note", "text": "whole"}\n{"at_ns": 2, "eve')
    assert [event.at_ns for event in read_events(path)] == [1]


@pytest.mark.parametrize("line", ["[]", "{}", '{"at_ns": 1}', "nonsense"])
def test_a_line_that_is_no_event_is_refused_by_file_and_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(f'{line}\n{{"at_ns": 1, "event": "note"}}\n')
    with pytest.raises(HistoryError, match=r"events\.jsonl:1: not an event"):
        read_events(path)


def test_no_file_is_an_error_of_the_history(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="No such file"):
        read_events(tmp_path / "events.jsonl")
