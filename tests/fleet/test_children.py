"""Several runs at once: each a process, so many as are allowed and fit, none outlives a stop."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chaoskafka.errors import ExitCode
from chaoskafka.fleet import children
from chaoskafka.fleet.child import Order
from chaoskafka.fleet.children import Fleet
from chaoskafka.fleet.outcome import Asked, Ended
from chaoskafka.fleet.room import Room
from chaoskafka.progress import Progress, Silent
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.scenario.load import load_text
from chaoskafka.verdict import Answer
from tests.rehearsals import SCENARIO

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in.py")))
LARGE = Room(1 << 20, 64.0)


@dataclass
class Shown(Silent):
    """A board that remembers how many were shown at once, and what was said."""

    stop: threading.Event
    stop_at: int | None = None  # this many runs that have reached phase 7
    most: int = 0
    open_now: int = 0
    asking: int = 0
    notes: list[str] = field(default_factory=list)

    def open(self, label: str) -> Progress:
        self.open_now += 1
        self.most = max(self.most, self.open_now)
        return self

    def close(self, progress: Progress) -> None:
        self.open_now -= 1

    def note(self, text: str) -> None:
        self.notes.append(text)

    def phase(self, number: int, name: str) -> None:
        self.asking += number == 7
        if self.asking == self.stop_at:
            self.stop.set()


def asked(*what: str, text: str = SCENARIO) -> tuple[Asked, ...]:
    scenario = load_text(text, name="case")
    return tuple(Asked(name=each, path=Path(each), scenario=scenario, seed=i) for i, each in enumerate(what))


def order(one: Asked) -> Order:
    return Order(
        path=str(one.path),
        seed=one.seed,
        settings=(),
        variable=(),
        out="runs",
        keep=False,
        timeout_s=60.0,
        runtime="fake",
        replay=f"chaoskafka run {one.name}",
        started_by=os.getpid(),
    )


def played(
    runs: Sequence[Asked],
    *,
    jobs: int = 2,
    room: Room = LARGE,
    fail_fast: bool = False,
    stop_at: int | None = None,
    orders: children.Orders = order,
) -> tuple[dict[str, Ended], Shown]:
    ended: list[Ended] = []
    stop = threading.Event()
    board = Shown(stop=stop, stop_at=stop_at)
    Fleet(
        jobs=jobs,
        room=room,
        runtime="fake",
        orders=orders,
        board=board,
        stop=stop,
        on_end=ended.append,
        fail_fast=fail_fast,
    ).play(runs)
    assert len(ended) == len(runs)
    return {one.asked.name: one for one in ended}, board


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "CHILD", STAND_IN)


@pytest.mark.usefixtures("stand_in")
def test_each_ending_has_its_code_and_a_death_says_whose_doing_it_was() -> None:
    ended, _ = played(asked("passes", "fails", "dies-early", "dies-asking", "crashes", "mute"), jobs=6)
    codes = {name: one.code for name, one in ended.items()}
    assert codes == {
        "passes": ExitCode.PASS,
        "fails": ExitCode.FAIL,
        "dies-early": ExitCode.ENVIRONMENT,  # no question had been asked
        "dies-asking": ExitCode.UNKNOWN,
        "crashes": ExitCode.INTERNAL,
        "mute": ExitCode.INTERNAL,
    }
    assert "signal 9" in ended["dies-asking"].problem
    assert "chaoskafka heal" in ended["dies-asking"].problem
    assert "RuntimeError: a bug" in ended["crashes"].problem


@pytest.mark.usefixtures("stand_in")
def test_no_more_at_once_than_allowed() -> None:
    ended, board = played(asked(*["passes"] * 5), jobs=2)
    assert board.most == 2
    assert {one.code for one in ended.values()} == {ExitCode.PASS}


@pytest.mark.usefixtures("stand_in")
def test_no_more_at_once_than_fit_and_that_is_said_once() -> None:
    _, board = played(asked("passes", "fails", "crashes", "mute"), jobs=4, room=Room(1 << 20, 1.0))
    assert board.most == 1
    (said,) = [note for note in board.notes if "at once" in note]
    assert said.startswith("1 at once, not 4: with fails they may use 1024 MiB of memory and 2 cores")


@pytest.mark.usefixtures("stand_in")
def test_after_a_failure_nothing_is_started_if_so_asked() -> None:
    ended, _ = played(asked("fails", "passes"), jobs=1, fail_fast=True)
    assert ended["fails"].code is ExitCode.FAIL
    assert ended["passes"].code is None
    assert ended["passes"].word == "not_played"


@pytest.mark.usefixtures("stand_in")
def test_a_stop_ends_all_that_run_and_starts_nothing() -> None:
    ended, board = played(asked("waits", "waits too", "passes"), jobs=2, stop_at=2)
    assert ended["waits"].code is ended["waits too"].code is ExitCode.INTERRUPTED
    assert ended["passes"].code is None
    assert board.open_now == 0


@pytest.mark.usefixtures("stand_in")
def test_who_does_not_hear_a_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "ENDS_S", 0.2)
    ended, _ = played(asked("deaf"), jobs=2, stop_at=1)
    assert ended["deaf"].code is ExitCode.INTERRUPTED
    assert "signal 9" in ended["deaf"].problem


@pytest.mark.usefixtures("stand_in")
def test_an_output_that_somebody_holds_open_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "ENDS_S", 0.2)
    monkeypatch.setattr(children, "KILLED_S", 0.2)
    ended, board = played(asked("survived"), jobs=2, stop_at=1)
    (held,) = [note for note in board.notes if "held by" in note]
    os.kill(int(held.rpartition(" ")[2]), signal.SIGKILL)
    assert ended["survived"].code is ExitCode.INTERRUPTED
    assert "signal 9" in ended["survived"].problem


def test_two_rehearsals_at_once_have_a_directory_and_a_result_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(children, "CHILD", (sys.executable, "-m", "tests.fleet.hurried"))
    path = tmp_path / "case.yaml"
    path.write_text(SCENARIO)

    def real(one: Asked) -> Order:
        return Order.from_json(
            order(one).to_json().replace('"out": "runs"', f'"out": "{tmp_path}"').replace(one.name, str(path))
        )

    ended, board = played(asked("one", "two"), orders=real)
    assert board.most == 2
    directories = {one.run_dir for one in ended.values()}
    assert len(directories) == 2
    for one in ended.values():
        assert (one.code, one.problem) == (ExitCode.PASS, "")
        assert one.run_dir is not None
        assert read_result(one.run_dir / RESULT_FILE).answer is Answer.PASS
