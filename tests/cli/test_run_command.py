"""`chaoskafka run` where there is no engine: a clear message, exit code 3, and a run that CI sees as an error."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from chaoskafka import under_load
from chaoskafka.cli import main
from chaoskafka.commands import RunRequest, RuntimeName
from chaoskafka.commands.asked import asked_of, replay_command, with_earlier_settings
from chaoskafka.commands.run import main as run_command
from chaoskafka.commands.summary import summary
from chaoskafka.errors import ExitCode, UsageError
from chaoskafka.fleet.outcome import Asked, Ended, save_results
from chaoskafka.fleet.shards import Shard
from chaoskafka.scenario.load import load_text
from tests.rehearsals import SCENARIO, hurry

GOOD = """\
topics: {orders: {}}
workloads: [{produce: {topic: orders}}]
plan: [{after_s: 5, kill: {target: any, for_s: 15}}]
"""


@dataclass(frozen=True)
class Called:
    returncode: object
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Called, Path]:
    """Two runs on a machine whose engine does not answer; in this process, as importing everything takes seconds."""
    where = tmp_path_factory.mktemp("no-engine")
    (where / "case.yaml").write_text(GOOD)
    words = [
        "chaoskafka",
        "run",
        "case.yaml",
        "--seed",
        "41",
        "--repeat",
        "2",
        "--junit",
        "junit.xml",
        "--json",
        "results.jsonl",
    ]
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err), chdir(where):
        for name in [name for name in os.environ if name.startswith(("CHAOSKAFKA_", "DOCKER_"))]:
            patch.delenv(name)
        patch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
        patch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            main()
    return Called(end.value.code, out.getvalue(), err.getvalue()), where


def test_the_exit_code_says_that_the_environment_lacks_something(
    ended: tuple[Called, Path],
) -> None:
    done, _ = ended
    assert done.returncode == ExitCode.ENVIRONMENT
    assert "Traceback" not in done.stderr + done.stdout


def test_each_repetition_has_a_seed_of_its_own_and_a_line_in_the_summary(
    ended: tuple[Called, Path],
) -> None:
    done, _ = ended
    assert "0 of 2 runs passed" in done.stdout
    assert "environment  case  seed 41" in done.stdout
    assert "environment  case  seed 42" in done.stdout


def test_progress_is_plain_lines_on_stderr(ended: tuple[Called, Path]) -> None:
    done, _ = ended
    assert "phase 1: load and plan" in done.stderr
    assert "replay: chaoskafka run case.yaml --seed 41" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_run_without_a_result_is_an_error_for_ci(ended: tuple[Called, Path]) -> None:
    _, where = ended
    told = (where / "junit.xml").read_text()
    assert 'tests="2" failures="0" errors="2"' in told
    assert "to mend it: " in told
    assert (where / "results.jsonl").read_text() == ""


def test_a_summary_and_the_results_of_all_runs_lie_beside_them(ended: tuple[Called, Path]) -> None:
    _, where = ended
    runs = json.loads((where / "runs" / "results.json").read_text())["runs"]
    assert [(run["scenario"], run["seed"], run["ended"]) for run in runs] == [
        ("case.yaml", 41, "environment"),
        ("case.yaml", 42, "environment"),
    ]
    assert "0 of 2 runs passed" in (where / "runs" / "summary.md").read_text()


def test_what_left_nothing_is_in_the_summary_and_no_text_of_it_is_markup() -> None:
    scenario = load_text(GOOD, name="case")
    asked = [Asked(name=f"<b>{i}", path=Path("x"), scenario=scenario, seed=i) for i in range(102)]
    every = [Ended(asked=one, code=None, problem="not | played") for one in asked]
    page = summary(every, {})
    assert "| **not\\_played** | \\<b\\>0 | 0 | not \\| played |" in page
    assert "… and 2 more, in results.json" in page


def test_the_run_directory_says_what_was_asked(ended: tuple[Called, Path]) -> None:
    _, where = ended
    header = json.loads((where / "runs" / "case" / "latest" / "run.json").read_text())
    assert header["seed"] == 42
    assert header["plan"][0]["target"] == "any"


def request(**changes: object) -> RunRequest:
    return replace(
        RunRequest(
            scenarios=("my case.yaml",),
            seed=None,
            repeat=1,
            keep=False,
            out=Path("runs"),
            settings=("plan[0].kill.for_s=8",),
            timeout_s=300.0,
            junit=None,
            json=None,
        ),
        **changes,
    )


def test_the_replay_command_is_what_a_shell_takes() -> None:
    told = replay_command("my case.yaml", 7, request())
    assert told == "chaoskafka run 'my case.yaml' --seed 7 --set 'plan[0].kill.for_s=8' --timeout-s 300"


def test_a_rehearsal_is_played_again_as_one() -> None:
    told = replay_command("case.yaml", 7, request(settings=(), timeout_s=None, runtime=RuntimeName.FAKE))
    assert told == "chaoskafka run case.yaml --seed 7 --runtime fake"


def test_a_rehearsal_from_the_command_line_says_that_it_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hurry(monkeypatch)
    path = tmp_path / "case.yaml"
    path.write_text(SCENARIO.replace("for_s: 0.1", "for_s: 0.4"))
    monkeypatch.setattr(under_load, "TAIL_S", 0.3)
    asked = request(scenarios=(str(path),), out=tmp_path / "runs", settings=(), runtime=RuntimeName.FAKE, seed=3)
    assert run_command(asked) is ExitCode.PASS
    shown = capsys.readouterr()
    assert shown.out.startswith("REHEARSAL on runtime fake: no Kafka was involved")
    assert '{"at_ns"' not in shown.out + shown.err
    header = json.loads((tmp_path / "runs" / "case" / "latest" / "run.json").read_text())
    assert (header["runtime"], header["clients"]) == ("fake", "thread")
    assert header["versions"]["engine"] == "none: no Kafka is involved"


def test_a_rehearsal_cannot_be_kept() -> None:
    with pytest.raises(UsageError, match="--keep"):
        run_command(request(keep=True, runtime=RuntimeName.FAKE))


def test_a_flag_s_seed_wins_over_the_file_s_and_that_over_chance(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(GOOD + "seed: 3\n")
    (tmp_path / "none.yaml").write_text(GOOD)
    files = tuple(str(tmp_path / name) for name in ("own.yaml", "none.yaml"))

    def seeds(**changes: object) -> list[int]:
        return [one.seed for one in asked_of(request(scenarios=files, settings=(), **changes))]

    assert seeds(seed=7, repeat=2) == [7, 8, 7, 8]
    assert seeds(repeat=2)[:2] == [3, 4]
    first, second = seeds(repeat=2)[2:]
    assert second == first + 1
    assert seeds()[1] != seeds()[1]


@pytest.fixture
def nine(tmp_path: Path) -> tuple[str, ...]:
    """Three scenarios, played three times each."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.yaml").write_text(GOOD)
    return (str(tmp_path),)


def test_shares_hold_each_run_of_a_call_once(nine: tuple[str, ...]) -> None:
    def runs(shard: Shard | None) -> list[tuple[str, int]]:
        asked = asked_of(request(scenarios=nine, settings=(), repeat=3, seed=1, shard=shard))
        return [(one.name, one.seed) for one in asked]

    shares = [runs(Shard(number, 2)) for number in (1, 2)]
    assert sorted(shares[0] + shares[1]) == sorted(runs(None))
    assert {len(share) for share in shares} == {4, 5}


def test_what_had_not_passed_is_played_again_with_its_seed_and_its_settings(
    nine: tuple[str, ...], tmp_path: Path
) -> None:
    first = asked_of(request(scenarios=nine, settings=(), seed=7))
    codes = (ExitCode.PASS, ExitCode.FAIL, None)
    path = tmp_path / "results.json"
    ended = [Ended(asked=one, code=code) for one, code in zip(first, codes, strict=True)]
    save_results(path, ended, ["plan[0].kill.for_s=3"])
    again = with_earlier_settings(request(scenarios=(), settings=("topics.orders.partitions=2",), rerun_failed=path))
    second = asked_of(again)
    assert [(one.name, one.seed) for one in second] == [(one.name, 7) for one in first[1:]]
    assert {one.scenario.plan[0].fault.for_s for one in second} == {3.0}  # type: ignore[union-attr]
    assert {one.scenario.topics["orders"].partitions for one in second} == {2}


def test_a_run_that_is_meant_twice_is_played_once(nine: tuple[str, ...], tmp_path: Path) -> None:
    first = asked_of(request(scenarios=nine[:1], settings=(), seed=5, repeat=2))
    path = tmp_path / "results.json"
    save_results(path, [Ended(asked=one, code=ExitCode.FAIL) for one in first], ())
    again = asked_of(request(scenarios=(), settings=(), rerun_failed=path, repeat=2))
    assert {one.seed for one in again} == {5, 6, 7}
    assert len({one.key for one in again}) == len(again)


def test_a_file_of_results_and_scenarios_beside_it_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name none beside it"):
        asked_of(request(rerun_failed=tmp_path / "results.json"))


def test_nothing_to_play_is_refused_unless_a_share_or_an_earlier_call_left_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="no scenario: name files"):
        run_command(request(scenarios=()))
    path = tmp_path / "results.json"
    save_results(path, [], ())
    asked = request(scenarios=(), settings=(), out=tmp_path / "runs", rerun_failed=path)
    assert run_command(asked) is ExitCode.PASS
    assert "none had failed" in capsys.readouterr().out
    assert json.loads((tmp_path / "runs" / "results.json").read_text())["runs"] == []
