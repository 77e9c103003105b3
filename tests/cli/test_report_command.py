"""`report` and `explain` on stored runs: where each format goes, what is refused, and that a run leaves its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaoskafka.cli import app
from chaoskafka.commands import report as command
from chaoskafka.report.result import RESULT_FILE
from tests.histories import alterations as a
from tests.histories.builder import build
from tests.histories.copy import Copy
from tests.histories.shape import Shape
from tests.report.pages import parsed
from tests.report.runs import judged, whole


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A run that lost a message. Nobody alters it, save for the pages in it."""
    run = Copy.at(whole(tmp_path_factory.mktemp("stored") / "run", Shape(partitions=2)))
    judged(run, a.lose_one, expect=("no_lost_acknowledged",))
    return run


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def chaoskafka(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.stdout, done.stderr


def test_a_page_lies_beside_its_run_and_one_of_several_where_it_was_asked_for(stored: Copy, tmp_path: Path) -> None:
    run = str(stored.run_dir)
    code, out, _ = chaoskafka("report", run)
    assert (code, out.strip()) == (0, str(stored.run_dir / "report.html"))
    assert parsed((stored.run_dir / "report.html").read_text()).all("article")
    code, out, _ = chaoskafka("report", run, run)
    assert (code, out.strip()) == (0, "report.html")
    assert len(parsed((tmp_path / "report.html").read_text()).all("article")) == 2


@pytest.mark.parametrize(("kind", "begins"), [("markdown", "### FAIL"), ("csv", "run_id,scenario")])
def test_a_summary_and_a_table_go_to_stdout_or_to_a_file(kind: str, begins: str, stored: Copy, tmp_path: Path) -> None:
    code, out, _ = chaoskafka("report", str(stored.run_dir), "--format", kind)
    assert code == 0
    assert out.startswith(begins)
    code, told, _ = chaoskafka("report", str(stored.run_dir), "--format", kind, "--out", "deep/file")
    assert (code, told.strip()) == (0, "deep/file")
    assert (tmp_path / "deep" / "file").read_text().startswith(begins)


def test_a_trace_is_a_file_of_json(stored: Copy) -> None:
    code, out, _ = chaoskafka("report", str(stored.run_dir), "--format", "trace")
    assert (code, out.strip()) == (0, str(stored.run_dir / "trace.json"))
    assert json.loads((stored.run_dir / "trace.json").read_text())["traceEvents"]


def test_a_directory_that_is_no_run_is_named_and_the_others_are_reported(stored: Copy, tmp_path: Path) -> None:
    code, out, err = chaoskafka("report", str(tmp_path), str(stored.run_dir))
    assert code == 2
    assert "not a run directory" in err
    assert out.strip() == str(stored.run_dir / "report.html")
    code, out, _ = chaoskafka("report", str(tmp_path))
    assert (code, out) == (2, "")


def test_a_report_that_cannot_be_written_is_told_before_anything_is_read(stored: Copy, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = chaoskafka("report", str(stored.run_dir), "--out", "file/report.html")
    assert code == 2
    assert "cannot be written" in err


def test_explain_tells_the_story_and_what_to_type_next(stored: Copy) -> None:
    code, out, _ = chaoskafka("explain", str(stored.run_dir))
    assert code == 0
    assert out.startswith("FAIL  no_lost_acknowledged: message orders/")
    assert "suspect: broker." in out
    command_line = next(line for line in out.splitlines() if line.startswith("next:")).removeprefix("next:").split()
    code, again, _ = chaoskafka(*command_line[1:])
    assert code == 0
    assert again.startswith("FAIL  no_lost_acknowledged: message")


def test_explain_of_a_green_run_says_that_there_is_nothing(tmp_path: Path) -> None:
    run = Copy.at(whole(tmp_path / "run", Shape(partitions=1)))
    code, out, _ = chaoskafka("explain", str(judged(run, expect=("recovered",))))
    assert code == 0
    assert out.startswith("All 3 checks passed: whole again ")


def test_explain_of_a_run_that_was_never_judged_says_how_it_ended(tmp_path: Path) -> None:
    code, out, _ = chaoskafka("explain", str(build(tmp_path / "run")))
    assert code == 0
    assert "It ended in phase" in out


@pytest.mark.parametrize(
    ("message", "told"), [("orders", "orders/0:0.0:11"), ("orders/0:0.0:999999", "nobody sent, stored or read")]
)
def test_explain_refuses_what_names_no_message(message: str, told: str, stored: Copy) -> None:
    code, _, err = chaoskafka("explain", str(stored.run_dir), message)
    assert code == 2
    assert told in err


def test_a_page_that_cannot_be_made_changes_no_answer_and_is_told(
    stored: Copy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> str:
        raise KeyError("a flaw of the page")

    monkeypatch.setattr(command, "as_html", broken)
    command.write_page(stored.run_dir)
    said = capsys.readouterr()
    assert said.out == ""
    assert "no report.html: KeyError: 'a flaw of the page'" in said.err
    assert (stored.run_dir / RESULT_FILE).exists()
