"""Phases: numbered without a hole, each written down with its end, also when it fails; and the clock of a run."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.errors import Interrupted, RunTimeout, WaitTimeout
from chaoskafka.history.events import EventLog, read_events
from chaoskafka.phases import Phase, Phases, RunClock, stop_on_signals
from chaoskafka.progress import Silent


def test_phases_are_numbered_from_1_without_a_hole_and_all_have_a_title() -> None:
    assert [int(phase) for phase in Phase] == list(range(1, 16))
    assert len({phase.title for phase in Phase}) == len(Phase)


def test_a_phase_that_fails_is_written_down_with_its_error(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.jsonl") as events:
        phases = Phases(events, Silent())
        with phases.phase(Phase.FORM):
            pass
        with pytest.raises(WaitTimeout), phases.phase(Phase.TOPICS):
            raise WaitTimeout("no leader")
        assert phases.failed is Phase.TOPICS
    told = [
        (e.fields["number"], e.fields["state"], e.fields.get("error")) for e in read_events(tmp_path / "events.jsonl")
    ]
    assert told == [(4, "begin", None), (4, "end", None), (5, "begin", None), (5, "end", "WaitTimeout: no leader")]
    assert phases.begun == {Phase.FORM, Phase.TOPICS}


def test_a_phase_tells_what_failed_while_it_cleaned_up(tmp_path: Path) -> None:
    late = WaitTimeout("no leader")
    late.add_note("then, while removing node-1: still in use")
    with (
        EventLog(tmp_path / "events.jsonl") as events,
        pytest.raises(WaitTimeout),
        Phases(events, Silent()).phase(Phase.OPEN),
    ):
        raise late
    assert "still in use" in read_events(tmp_path / "events.jsonl")[-1].fields["error"]


def test_the_clock_of_a_run_ends_waits_when_the_whole_run_is_late() -> None:
    clock = RunClock(threading.Event(), timeout_s=0.0, on_tick=lambda: None)
    with pytest.raises(RunTimeout, match="--timeout-s"):
        clock.pause(3600)


def test_a_wait_that_the_run_cuts_short_is_not_taken_for_one_that_was_in_vain() -> None:
    clock = RunClock(threading.Event(), timeout_s=0.0, on_tick=lambda: None)
    with pytest.raises(RunTimeout):
        wait_until("nothing", read=lambda: False, good=bool, within_s=3600, clock=clock)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_only_sets_the_stop_and_the_next_wait_leaves(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_on_signals(Silent()) as stop:
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)  # a second one changes nothing
        clock = RunClock(stop, timeout_s=None, on_tick=lambda: None)
        with pytest.raises(Interrupted):
            clock.pause(3600)
    assert signal.getsignal(number) is before


class Stubborn(Silent):
    """Notes under a lock that the main thread holds: what a signal's own handler would wait for in vain."""

    def __init__(self) -> None:
        self.lock, self.notes = threading.Lock(), list[str]()

    def note(self, text: str) -> None:
        with self.lock:
            self.notes.append(text)


def test_a_signal_in_the_middle_of_a_note_does_not_lock_up() -> None:
    progress = Stubborn()
    with stop_on_signals(progress) as stop:
        with progress.lock:
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.wait(10)
        os.kill(os.getpid(), signal.SIGINT)
    assert [note.split(":")[0] for note in progress.notes] == ["SIGTERM", "SIGINT"]
    assert "still" in progress.notes[1]
