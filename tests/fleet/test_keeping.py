"""Old run directories go; this call's, living ones, and what no run has made stay."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from chaoskafka.fleet.keeping import remove_old
from chaoskafka.history.header import RunHeader
from chaoskafka.report.result import RESULT_FILE
from chaoskafka.runtimes.locks import run_lock
from tests.histories.builder import build

NAMES = [f"2026010{day}T000000-{day}" for day in range(1, 6)]


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five runs of a scenario, and beside them what is none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    case = tmp_path / "out" / "case"
    build(case / NAMES[0])
    for name in NAMES[1:]:
        shutil.copytree(case / NAMES[0], case / name)
    for name in NAMES:
        (case / name / RESULT_FILE).write_text("{}")
    (case / "latest").symlink_to(NAMES[-1])
    (case / "20260101T000000-9").mkdir()  # named as a run, without a header
    (case / "mine").mkdir()
    return tmp_path / "out"


def left(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "case").iterdir() if path.name in NAMES)


def test_the_newest_stay_and_so_does_what_is_no_run(out: Path) -> None:
    removed = remove_old(out, "case", keep=2, spare=[])
    assert sorted(path.name for path in removed) == NAMES[:3]
    assert left(out) == NAMES[3:]
    assert {path.name for path in (out / "case").iterdir()} >= {"latest", "20260101T000000-9", "mine"}


def test_what_this_call_has_played_stays(out: Path) -> None:
    remove_old(out, "case", keep=1, spare=[out / "case" / NAMES[0]])
    assert left(out) == [NAMES[0], NAMES[-1]]


def test_what_still_lives_stays(out: Path) -> None:
    first = out / "case" / NAMES[0]
    replace(RunHeader.load(first), run_id="alive-1").save(first)
    with run_lock("alive-1"):
        remove_old(out, "case", keep=1, spare=[])
    assert left(out) == [NAMES[0], NAMES[-1]]


def test_what_is_being_judged_stays_until_it_has_long_been_quiet(out: Path) -> None:
    first = out / "case" / NAMES[0]
    (first / RESULT_FILE).unlink()
    assert first not in remove_old(out, "case", keep=1, spare=[])
    for path in (*first.iterdir(), first):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    assert remove_old(out, "case", keep=1, spare=[]) == [first]
