"""The undo ledger: on disk before the deed, ticked off after it was taken back, readable whatever became of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.cluster.undo import Owed, Undo
from chaoskafka.errors import EnvironmentFailure, FaultFailed
from chaoskafka.runtimes import ledger as ledgers
from chaoskafka.runtimes import locks
from chaoskafka.runtimes.ledger import Point, RunLedger, ledger_path, observe, read_ledger

RUN_ID = "r1"


@pytest.fixture(autouse=True)
def _own_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[Point]:
    """The points that are passed, in order."""
    monkeypatch.setattr(ledgers, "_observers", [])
    points: list[Point] = []
    observe(points.append)
    return points


def owed(node: str, fault: int = 0) -> Owed:
    return Owed(fault=fault, word="kill", node=node, undo=Undo.START)


def act(ledger: RunLedger, *nodes: str, fault: int = 0) -> list[str]:
    return ledger.act(nodes, [owed(node, fault) for node in nodes], lambda node: f"hit {node}")  # type: ignore[type-var]


def on_disk() -> tuple[Owed, ...]:
    found = read_ledger(ledger_path(RUN_ID))
    assert found.problem is None
    return found.owed


def test_points_are_numbered_from_1_without_a_hole() -> None:
    assert [int(point) for point in Point] == list(range(1, len(Point) + 1))


def test_what_is_owed_is_on_disk_before_the_first_deed_and_off_it_when_ticked(passed: list[Point]) -> None:
    ledger = RunLedger(RUN_ID)
    seen: list[tuple[Owed, ...]] = []
    nodes = ("node-1", "node-2")
    ledger.act(nodes, [owed(node) for node in nodes], lambda _: seen.append(on_disk()))  # type: ignore[type-var]
    assert seen == [(owed("node-1"), owed("node-2"))] * 2
    ledger.tick(0)
    assert on_disk() == ()
    ledger.close(removed=True)
    assert passed == [
        Point.BEFORE_WRITE, Point.AFTER_WRITE, Point.DURING_ACT, Point.DURING_ACT, Point.AFTER_ACT,
        Point.BEFORE_TICK, Point.AFTER_TICK,
    ]  # fmt: skip


def test_a_fault_is_ticked_alone_and_a_restoration_ticks_all() -> None:
    ledger = RunLedger(RUN_ID)
    assert act(ledger, "node-1") == ["hit node-1"]
    act(ledger, "node-2", "node-1", fault=1)
    ledger.tick(1)
    assert on_disk() == (owed("node-1"),)
    ledger.tick_all()
    assert on_disk() == ()
    ledger.tick_all()  # nothing is owed: nothing to do
    ledger.close(removed=False)
    assert not ledger_path(RUN_ID).exists()


def test_a_deed_that_fails_stays_owed() -> None:
    def refuse(_: object) -> None:
        raise FaultFailed("no such process")

    ledger = RunLedger(RUN_ID)
    with pytest.raises(FaultFailed):
        ledger.act(["node-1"], [owed("node-1")], refuse)  # type: ignore[type-var]
    assert on_disk() == (owed("node-1"),)
    ledger.close(removed=True)


@pytest.mark.parametrize("removed", [True, False])
def test_the_file_outlives_the_run_only_if_something_is_owed_to_what_was_not_removed(removed: bool) -> None:
    ledger = RunLedger(RUN_ID)
    act(ledger, "node-1")
    assert locks.is_alive(RUN_ID)
    ledger.close(removed=removed)
    assert ledger_path(RUN_ID).exists() is not removed
    assert not locks.is_alive(RUN_ID)


def test_a_run_without_deeds_leaves_no_file() -> None:
    RunLedger(RUN_ID).close(removed=False)
    assert list(locks.runs_directory().iterdir()) == []


def test_a_disk_without_room_for_the_entry_is_told_before_anything_is_done() -> None:
    """By a limit on the size of files, which a write meets as it meets a full disk."""
    code = f"""
import resource, sys
from chaoskafka.cluster.undo import Owed, Undo
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes.ledger import RunLedger, ledger_path, read_ledger
ledger = RunLedger({RUN_ID!r})
owed = lambda node: Owed(fault=0, word="kill", node=node, undo=Undo.START)
ledger.act(["node-1"], [owed("node-1")], id)
limit = ledger_path({RUN_ID!r}).stat().st_size + 5
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
try:
    ledger.act(["node-2"], [owed("node-2")], lambda node: sys.exit("it was done"))
except EnvironmentFailure as full:
    print(full)
ledger.tick(0)  # no room for this either, which is no reason to end a run
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
ledger.act(["node-3"], [owed("node-3")], id)
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    assert "cannot be written, so nothing is broken on purpose: File too large" in child.stdout
    assert "df -h" in child.stdout
    assert on_disk() == (owed("node-1"), owed("node-3"))


def test_a_state_directory_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(ledgers, "_create", refuse)
    with pytest.raises(EnvironmentFailure, match="Read-only file system"):
        act(RunLedger(RUN_ID), "node-1")


HEAD = b'{"format": 1, "run_id": "r1"}\n'
ONE = b'{"owed": 1, "fault": 0, "word": "kill", "node": "node-1", "undo": "start", "detail": ""}\n'
SPOILT: dict[str, tuple[bytes, int, str | None]] = {
    "empty": (b"", 0, None),
    "killed in the first line": (b'{"form', 0, None),
    "torn last line": (HEAD + ONE + ONE[:30], 1, None),
    "torn tick": (HEAD + ONE + b'{"don', 1, None),
    "a later format": (b'{"format": 2}\n' + ONE, 0, "not a ledger of format 1"),
    "no head": (ONE, 0, "not a ledger of format 1"),
    "not JSON": (b"\xff\xfe\x00garbage\n\n", 0, "not a ledger of format 1"),
    "garbage in the middle": (HEAD + b"\x00\xff\n" + ONE, 1, "1 of 2 entries cannot be read"),
    "an undo of a later version": (
        HEAD + ONE.replace(b"start", b"thaw").replace(b"1", b"2") + ONE, 1, "1 of 2 entries cannot be read",
    ),
    "an undo that is no word": (HEAD + ONE.replace(b'"start"', b'["start"]'), 0, "1 of 1 entries cannot be read"),
    "a tick of nothing": (HEAD + b'{"done": 7}\n', 0, None),
    "lists": (HEAD + b"[]\n" + b"[" * 100_000 + b"\n", 0, "2 of 2 entries cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("case", SPOILT)
def test_what_became_of_a_ledger_never_stops_who_reads_it(case: str) -> None:
    content, owes, problem = SPOILT[case]
    path = ledger_path(RUN_ID)
    path.write_bytes(content)
    found = read_ledger(path)
    assert len(found.owed) == owes
    assert (problem is None) == (found.problem is None)
    assert problem is None or problem in (found.problem or "")


def test_one_that_cannot_be_read_is_a_problem_and_one_that_is_missing_is_none() -> None:
    path = ledger_path(RUN_ID)
    assert read_ledger(path) == ledgers.FoundLedger(owed=())
    path.mkdir()
    assert "Is a directory" in (read_ledger(path).problem or "")


@given(st.binary(max_size=200), st.integers(min_value=0, max_value=len(HEAD + ONE)))
def test_any_bytes_after_any_beginning_are_read_without_an_error(tail: bytes, kept: int) -> None:
    path = ledger_path(RUN_ID)
    path.write_bytes((HEAD + ONE)[:kept] + tail)
    assert len(read_ledger(path).owed) <= 2


def test_entries_are_small_values_that_any_later_process_can_read() -> None:
    ledger = RunLedger(RUN_ID)
    act(ledger, "node-1")
    head, entry = map(json.loads, ledger_path(RUN_ID).read_text().splitlines())
    ledger.close(removed=True)
    assert head == {"format": 1, "run_id": RUN_ID}
    assert entry == {"owed": 1, "fault": 0, "word": "kill", "node": "node-1", "undo": "start", "detail": ""}
