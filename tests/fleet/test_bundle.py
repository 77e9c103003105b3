"""What a failure needs, in one bounded file; what did not fit is named in it."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from chaoskafka.errors import ExitCode
from chaoskafka.fleet import bundle as module
from chaoskafka.fleet.bundle import LEFT_OUT, bundle
from chaoskafka.judge import judge
from tests.histories.builder import build
from tests.rehearsals import rehearse

pytestmark = pytest.mark.slow


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run with logs of broker and worker."""
    found = build(tmp_path / "runs" / "case" / "20260101T000000-1")
    (found / "logs").mkdir(exist_ok=True)
    (found / "logs" / "node-1.log").write_text("first line\n" + "a line of a broker\n" * 500 + "last line\n")
    return found


def unpacked(archive: Path, into: Path) -> Path:
    with tarfile.open(archive) as opened:
        opened.extractall(into, filter="data")
    return into


def test_what_was_bundled_can_be_judged_again_elsewhere(run_dir: Path, tmp_path: Path) -> None:
    before = judge(run_dir)
    done = bundle([run_dir], tmp_path / "failed.tar.gz")
    assert (done.left_out, done.size_bytes < 1_000_000) == (0, True)
    there = unpacked(tmp_path / "failed.tar.gz", tmp_path / "there") / "case" / run_dir.name
    (there / "result.json").unlink()
    assert judge(there) == before


def test_it_stays_below_its_limit_and_says_what_is_missing(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Path(shutil.copytree(run_dir, run_dir.with_name("20260101T000000-2")))
    whole = bundle([run_dir, other], tmp_path / "whole.tar.gz")
    monkeypatch.setattr(module, "SIZE_MAX_BYTES", whole.size_bytes // 2)
    done = bundle([run_dir, other], tmp_path / "half.tar.gz")
    assert done.size_bytes <= whole.size_bytes // 2
    there = unpacked(tmp_path / "half.tar.gz", tmp_path / "there")
    assert {path.parent.name for path in there.rglob("run.json")} == {run_dir.name, other.name}  # of both runs
    missing = (there / LEFT_OUT).read_text().splitlines()
    assert len(missing) == done.left_out > 0
    assert all(": " in line and line.endswith(" bytes") for line in missing)


def test_what_says_least_is_left_out_of_many_files_and_that_is_said(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILES_MAX", 3)
    done = bundle([run_dir], tmp_path / "few.tar.gz")
    there = unpacked(tmp_path / "few.tar.gz", tmp_path / "there")
    assert done.files == 3
    assert "more files" in (there / LEFT_OUT).read_text()
    assert (there / "case" / run_dir.name / "run.json").exists()


def test_a_bundle_that_cannot_be_written_leaves_no_part_of_it(run_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        bundle([run_dir], tmp_path / "taken")
    assert not (tmp_path / "taken.partial").exists()


def test_of_a_long_log_its_end_is_kept(run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOG_MAX_BYTES", 100)
    bundle([run_dir], tmp_path / "x.tar.gz")
    there = unpacked(tmp_path / "x.tar.gz", tmp_path / "there")
    (log,) = there.rglob("node-1.log")
    assert (log.stat().st_size, log.read_text().endswith("last line\n")) == (100, True)
    assert "node-1.log: its first " in (there / LEFT_OUT).read_text()


def test_a_rehearsal_that_failed_fits_many_times(tmp_path: Path) -> None:
    played = rehearse(tmp_path / "runs")
    assert played.exit_code is ExitCode.PASS
    assert bundle([played.run_dir], tmp_path / "x.tar.gz").size_bytes < 200_000
