"""The doctor where something is missing: real causes, the line that each gives, and exit code 3."""

from __future__ import annotations

import gc
import json
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaoskafka import machine
from chaoskafka.cli import app
from chaoskafka.commands.doctor import line_of, summary_of
from chaoskafka.doctor import processes
from chaoskafka.doctor.examination import Finding, State
from chaoskafka.doctor.examine import FOR_ALL, FOR_PROCESSES, Diagnosis, all_examinations
from chaoskafka.errors import ExitCode


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its own state directory, an engine nowhere, and no Java; each test adds its own trouble."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def doctor(tmp_path: Path) -> tuple[int, str, dict[str, Finding], list[str]]:
    report = tmp_path / "doctor.json"
    done = CliRunner().invoke(app, ["doctor", "--out", str(tmp_path), "--json", str(report)])
    gc.collect()  # Docker's SDK drops its socket when it cannot connect; let that warning fall here
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    plain = json.loads(report.read_text())
    findings = {each["word"]: Finding(**{**each, "state": State(each["state"])}) for each in plain["findings"]}
    return done.exit_code, done.stdout, findings, plain["not_examined"]


PROCESSES = {row.word for row in processes.EXAMINATIONS}

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_without_an_engine_what_needs_none_is_examined_all_the_same(tmp_path: Path) -> None:
    code, out, findings, not_examined = doctor(tmp_path)
    assert code == ExitCode.ENVIRONMENT
    here = {"packages", "state", "run_directory", "cores", "harness_memory", "engine"}
    assert here <= findings.keys() <= here | PROCESSES
    assert findings["engine"].state is State.MISSING
    assert "there is no such socket" in findings["engine"].text
    assert (findings["engine"].mend or "").startswith("unset DOCKER_HOST")
    assert {"images", "container", "nft", "left_behind"} <= set(not_examined)
    assert findings.keys() | set(not_examined) == {row.word for row in all_examinations()}
    assert "no docker run can work here: missing: engine" in out
    assert "a run on processes (--runtime process) can not work here" in out
    assert findings["java"].state is State.WARNING
    assert "JAVA_HOME=/nowhere has no bin/java" in findings["java"].text
    assert findings["packages"].state is findings["state"].state is State.OK
    assert list((tmp_path / "state" / "chaoskafka" / "runs").iterdir()) == []


def test_a_package_that_cannot_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    required = [*(metadata.requires("chaoskafka") or ()), "chaoskafka-nothing-such>=1"]
    monkeypatch.setattr(metadata, "requires", lambda _: required)
    code, _, findings, not_examined = doctor(tmp_path)
    assert code == ExitCode.ENVIRONMENT
    assert findings["packages"].state is State.MISSING
    assert "No module named 'chaoskafka_nothing_such'" in findings["packages"].text
    assert (findings["packages"].mend or "").endswith("pip install --force-reinstall chaoskafka-nothing-such")
    assert "engine" in not_examined


def test_a_state_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    code, _, findings, not_examined = doctor(tmp_path)
    assert code == ExitCode.ENVIRONMENT
    assert findings["state"].state is State.MISSING
    assert "file/chaoskafka/runs: locks of living runs are kept there" in findings["state"].text
    assert (findings["state"].mend or "").startswith("export XDG_STATE_HOME=")
    assert "engine" in not_examined


def test_a_full_disk_is_missing_and_starved_cores_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "RUN_DISK_MIB", 1 << 40)
    monkeypatch.setattr(machine, "STARVED_PERCENT", 0.0)
    _, out, findings, _ = doctor(tmp_path)
    assert findings["run_directory"].state is State.MISSING
    assert findings["cores"].state is State.WARNING
    assert "missing: run_directory, engine" in out


def test_words_are_unique_and_only_earlier_ones_are_needed() -> None:
    seen: set[str] = set()
    for row in all_examinations():
        assert row.word not in seen
        assert set(row.after) <= seen
        assert row.does
        assert row.mend
        seen.add(row.word)


def test_what_is_not_ok_says_what_that_means_and_what_mends_it() -> None:
    good = Finding(word="nft", state=State.OK, text="bites")
    assert line_of(good) == "ok       nft             bites"
    bad = Finding(word="nft", state=State.WARNING, text="refused", means="no cuts", mend="sudo modprobe nf_tables")
    assert [line.strip() for line in line_of(bad).splitlines()] == [
        "warning  nft             refused",
        "so: no cuts",
        "to mend it: sudo modprobe nf_tables",
    ]


@pytest.mark.parametrize(
    ("namespaces", "can", "told"),
    [
        (State.OK, ("process", "process-plain"), "can work here"),
        (State.WARNING, ("process-plain",), "can work here, with faults of processes only"),
    ],
)
def test_where_namespaces_are_forbidden_processes_can_less(namespaces: State, can: tuple[str, ...], told: str) -> None:
    found = [Finding(word=word, state=State.OK, text="") for word in (*FOR_ALL, *FOR_PROCESSES)]
    found += [
        Finding(word="namespaces", state=namespaces, text=""),
        Finding(word="engine", state=State.MISSING, text=""),
    ]
    diagnosis = Diagnosis(findings=tuple(found), not_examined=())
    assert diagnosis.can_run_on == can
    assert summary_of(diagnosis).splitlines()[-1] == f"a run on processes (--runtime process) {told}"
