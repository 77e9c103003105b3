"""The command line: exit codes, messages instead of tracebacks, and what is not imported."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from chaoskafka.cli import app
from chaoskafka.commands.output import gravest
from chaoskafka.commands.performing import perform
from chaoskafka.errors import GRAVEST_FIRST, EnvironmentFailure, ExitCode, HarnessError
from chaoskafka.scenario.find import SHIPPED

GOOD = """\
topics: {orders: {}}
workloads: [{produce: {topic: orders}}]
plan: [{after_s: 5, kill: {target: any, for_s: 15}}]
"""
COMMANDS = ["run", "check", "list", "validate", "heal", "doctor", "image"]


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In a directory of its own, without the user's own settings."""
    for variable in ("SET", "SEED", "OUT", "TIMEOUT_S"):
        monkeypatch.delenv(f"CHAOSKAFKA_{variable}", raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "case.yaml"
    path.write_text(GOOD)
    return path


def chaoskafka(*words: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(words), env=env)
    return done.exit_code, done.stdout, done.stderr


def test_help_names_every_command() -> None:
    code, out, _ = chaoskafka("--help")
    assert code == 0
    assert [command for command in COMMANDS if command not in out] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    assert chaoskafka(command, "--help")[0] == 0


def test_help_imports_no_table_library_no_client_and_no_engine() -> None:
    probe = (
        "import sys\nfrom chaoskafka.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'polars', 'docker', 'confluent_kafka', 'testcontainers', 'kio', 'jsonschema', 'yaml', 'asyncio'}\n"
        "sys.exit(str(sorted(heavy & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"


def test_validate_says_what_a_scenario_plays(scenario: Path) -> None:
    code, out, err = chaoskafka("validate", str(scenario))
    assert (code, err) == (0, "")
    assert "ok: case: kill; judged by no_lost_acknowledged" in out


def test_validate_explains_every_wrong_file_without_a_traceback(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(GOOD.replace("kill", "kil"))
    code, out, err = chaoskafka("validate", "wrong.yaml", str(scenario), "nothing-such")
    assert code == ExitCode.USAGE
    assert "case.yaml: ok" in out
    assert "wrong.yaml:3: plan[0].kil: no fault is called 'kil'; did you mean 'kill'?" in err
    assert "no scenario file, name or suite 'nothing-such'" in err
    assert "Traceback" not in err


def test_flags_win_over_the_environment_and_that_over_the_file(scenario: Path) -> None:
    bad = {"CHAOSKAFKA_SET": "plan[0].kill.for_s=-1"}
    assert chaoskafka("validate", str(scenario), env=bad)[0] == ExitCode.USAGE
    assert chaoskafka("validate", str(scenario), "--set", "plan[0].kill.for_s=8", env=bad)[0] == 0


def test_two_settings_in_one_variable(scenario: Path) -> None:
    both = {"CHAOSKAFKA_SET": "cluster.nodes=1; topics.orders.replication_factor=5"}
    _, _, err = chaoskafka("validate", str(scenario), env=both)
    assert "5 replicas do not fit on 1 brokers" in err


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["run", "x", "--seed", "-1"],
        ["run", "x", "--repeat", "0"],
        ["run", "x", "--timeout-s", "soon"],
        ["no-such-command"],
        ["check", "--no-such-flag"],
    ],
)
def test_a_wrong_call_is_a_usage_error(words: list[str]) -> None:
    assert chaoskafka(*words)[0] == ExitCode.USAGE


def test_run_starts_nothing_when_any_scenario_is_wrong(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("plan: []")
    code, _, err = chaoskafka("run", str(scenario), "wrong.yaml", "missing.yaml", "--out", "runs")
    assert code == ExitCode.USAGE
    assert "wrong.yaml" in err
    assert "missing.yaml" in err
    assert not (tmp_path / "runs").exists()


def test_check_refuses_what_is_no_run_and_judges_the_others(tmp_path: Path) -> None:
    code, _, err = chaoskafka("check", str(tmp_path), "--junit", str(tmp_path / "made" / "junit.xml"))
    assert code == ExitCode.USAGE
    assert "not a run directory" in err
    assert 'errors="1"' in (tmp_path / "made" / "junit.xml").read_text()


def test_list_shows_words_and_shipped_scenarios() -> None:
    code, out, _ = chaoskafka("list")
    assert code == 0
    for word in ("kill", "produce", "consume", "no_lost_acknowledged", "leader-killed", "leader-killed-fast"):
        assert f"  {word} " in out
    assert "cannot be loaded" not in out
    by_name = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert re.search(r" \d+ s +ci, smoke +Does a killed partition leader cost", by_name["leader-killed-fast"])
    assert re.search(r" \d+ s +Does Kafka still fail over", by_name["smoke"])


def test_one_s_own_scenarios_win_over_those_shipped(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    scenario.rename(tmp_path / "scenarios" / "leader-killed.yaml")
    _, out, _ = chaoskafka("validate", "leader-killed", "leader-killed-fast")
    mine, shipped = out.splitlines()
    assert mine.startswith("scenarios/leader-killed.yaml")
    assert shipped.startswith(str(SHIPPED))


def test_the_gravest_code_is_the_first_that_applies() -> None:
    assert gravest([]) is ExitCode.PASS
    assert gravest([ExitCode.PASS, ExitCode.PASS]) is ExitCode.PASS
    for i, code in enumerate(GRAVEST_FIRST):
        assert gravest([ExitCode.PASS, *reversed(GRAVEST_FIRST[i:])]) is code
    assert {*GRAVEST_FIRST, ExitCode.PASS} == set(ExitCode)


def test_version() -> None:
    code, out, _ = chaoskafka("--version")
    assert code == 0
    assert out.strip()


@pytest.mark.parametrize("option", ["--out", "--junit", "--json"])
def test_a_place_that_cannot_be_written_is_told_before_anything_starts(scenario: Path, option: str) -> None:
    code, _, err = chaoskafka("run", str(scenario), option, str(scenario / "below-a-file"))
    assert code == ExitCode.USAGE
    assert "below-a-file: cannot" in err


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "interrupted"),
        (EnvironmentFailure("no engine", mend="start one"), ExitCode.ENVIRONMENT, "to mend it: start one"),
        (HarnessError("broken promise"), ExitCode.INTERNAL, "Traceback"),
        (ZeroDivisionError("a bug"), ExitCode.INTERNAL, "this is a bug of chaoskafka"),
    ],
)
def test_every_error_becomes_a_message_and_a_code(
    error: BaseException, code: ExitCode, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> ExitCode:
        raise error

    with pytest.raises(typer.Exit) as left:
        perform("words", fail)
    assert left.value.exit_code == code
    err = capsys.readouterr().err
    assert told in err
    assert ("Traceback" in err) == (code is ExitCode.INTERNAL)


def test_nobody_who_reads_and_no_room_for_what_is_said_change_no_exit_code(scenario: Path) -> None:
    command = [sys.executable, "-m", "chaoskafka", "validate"]
    with Path("/dev/full").open("w") as full:
        told = subprocess.run([*command, str(scenario)], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        silent = subprocess.run([*command, "none.yaml"], stderr=full, check=False)
    assert (told.returncode, told.stderr) == (0, "chaoskafka: <stdout>: No space left on device\n")
    assert silent.returncode == ExitCode.USAGE
