"""The command line on bad files, bad arguments and bad variables: one clear message, exit code 2, nothing started."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaoskafka.cli import app
from chaoskafka.errors import ExitCode, ScenarioError
from chaoskafka.scenario.load import load_scenario
from chaoskafka.scenario.source import SCENARIO_MAX_BYTES
from tests.scenario.refused import CASES, GOOD, Case


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, without the user's own settings."""
    for variable in ("SET", "SEED", "OUT", "TIMEOUT_S"):
        monkeypatch.delenv(f"CHAOSKAFKA_{variable}", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*words: str, env: dict[str, str] | None = None) -> str:
    """What is said on stderr; that it is a usage error, and no more than one, is asserted here."""
    done = CliRunner().invoke(app, list(words), env=env)
    assert done.exit_code == ExitCode.USAGE, done.output
    assert "Traceback" not in done.output
    assert done.stdout == ""
    assert not Path("runs").exists()
    return done.stderr


@pytest.mark.parametrize(("command", "cases"), [("validate", CASES), ("run", CASES[::8])])  # both load in one way
def test_no_bad_scenario_starts_anything(here: Path, command: str, cases: Sequence[Case]) -> None:
    names = [f"x{number}.yaml" for number in range(len(cases))]
    for name, case in zip(names, cases, strict=True):
        (here / name).write_text(case.text)
    err = refused(command, *names)  # a scenario that was not refused would be told on stdout, or be played
    assert [
        name for name, case in zip(names, cases, strict=True) if f"{name}:{case.line}: {case.path}" not in err
    ] == []
    assert sorted(path.name for path in here.iterdir()) == sorted(names)


def text(content: str | bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content.encode() if isinstance(content, str) else content)


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryDirectory() as short:
        server.bind(f"{short}/s")  # a socket's path may have 107 bytes
        Path(short, "s").rename(path)


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "directory": (Path.mkdir, "'x.yaml' means no scenario: no *.yaml file fits"),
    "pipe": (os.mkfifo, "x.yaml: cannot be read: is no regular file"),
    "socket": (bound_socket, "x.yaml: cannot be read: No such device or address"),
    "endless device": (lambda path: path.symlink_to("/dev/zero"), "x.yaml: cannot be read: is no regular file"),
    "terminal": (lambda path: path.symlink_to("/dev/tty"), "x.yaml: cannot be read: "),
    "link to itself": (lambda path: path.symlink_to(path), "x.yaml: cannot be read: Too many levels of symbolic links"),
    "dangling link": (lambda path: path.symlink_to("none"), "x.yaml: cannot be read: No such file or directory"),
    "own memory": (lambda path: path.symlink_to("/proc/self/mem"), "x.yaml: cannot be read: Input/output error"),
    "empty": (text(""), "x.yaml: the file is empty"),
    "comments only": (text("# Is it safe?\n\n# x\n"), "x.yaml: the file is empty"),
    "too large": (text("a" * (SCENARIO_MAX_BYTES + 1)), f"x.yaml: cannot be read: is larger than {SCENARIO_MAX_BYTES}"),
    "many small values": (text("[" + "a," * 60_000 + "]"), "x.yaml:1: more than 20000 keys and values"),
    "not UTF-8": (text(b"title: a\ntopics: {\xff: 1}"), "x.yaml:2: not UTF-8: byte 0xff"),
    "UTF-16": (text("title: x".encode("utf-16")), "x.yaml:1: not UTF-8: byte 0xff"),
    "binary": (text(b"\x7fELF\x02\x01\x01\x00"), r"x.yaml:1: not YAML: a file cannot hold the character \x7f"),
    "NUL": (text("title: x\n\0"), r"x.yaml:2: not YAML: a file cannot hold the character \x00"),
    "terminal control": (
        text("# \x1b]0;owned\x07\ntitle: x"),
        r"x.yaml:1: not YAML: a file cannot hold the character \x1b",
    ),
    "two documents": (text(GOOD + "---\n" + GOOD), "x.yaml:14: a second document"),
    "a list": (text("- a\n- b\n"), "x.yaml:1: expected a mapping, got ['a', 'b']"),
    "prose": (text("Dear reader, this is no scenario.\n"), "x.yaml:1: expected a mapping, got 'Dear reader"),
    "compose file": (text("services:\n  web:\n    image: x\n"), "x.yaml:1: no scenario: none of its keys ('services')"),
    "workflow": (
        text("name: CI\non: [push]\njobs: {}\n"),
        "x.yaml:1: no scenario: none of its keys ('name', 'on', 'jobs')",
    ),
    "compose file with anchors": (text("x-a: &a {b: 1}\nservices: *a\n"), "x.yaml:1: anchors and aliases"),
    "JSON": (text('{"title": "x", "topics": {"a": {"partition": 3}}}'), "x.yaml:1: topics.a.partition: unknown key"),
    "deep": (text("[" * 100_000), "x.yaml:1: nested deeper than 16 levels"),
    "deep mappings": (text("? " * 50_000), "x.yaml:1: nested deeper than 16 levels"),
    "billion laughs": (
        text(
            "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True))
        ),
        "x.yaml:1: anchors and aliases are not allowed",
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_no_scenario_is_told_and_starts_nothing(here: Path, kind: str) -> None:
    make, message = FILES[kind]
    make(here / "x.yaml")
    assert message in refused("run", "x.yaml")


def test_a_file_that_may_not_be_read_is_told() -> None:
    me, nobody = os.geteuid(), 65534
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "x.yaml")
        path.write_text(GOOD)
        path.chmod(0)
        try:
            if me == 0:  # who may read everything
                os.seteuid(nobody)
            with pytest.raises(ScenarioError, match=r"x\.yaml: cannot be read: Permission denied"):
                load_scenario(path)
        finally:
            os.seteuid(me)


MY = """\
# As in docs/scenarios.md.
cluster: {nodes: 3, kafka: 4.2}
topics:
  orders: {partitions: 6, min_insync_replicas: 4}
workloads:
  - produce: {topic: orders}
plan:
  - after_s: 5
    kill: {targt: any, for_s: 15}
"""


def test_the_examples_of_the_documentation_are_real(here: Path) -> None:
    docs = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")
    (here / "my.yaml").write_text(MY)
    assert f"$ chaoskafka validate my.yaml\n{refused('validate', 'my.yaml')}```" in docs
    mended = MY.replace("4.2", '"4.2.2"').replace(", min_insync_replicas: 4", "").replace("targt", "target")
    (here / "my.yaml").write_text(mended)
    words = "run my.yaml --set topics.orders.replication_factor=5"
    said = refused(*words.split(), env={"CHAOSKAFKA_SET": "plan[0].kill.for_s=0"})
    assert f'$ CHAOSKAFKA_SET="plan[0].kill.for_s=0" chaoskafka {words}\n{said}```' in docs


@pytest.mark.parametrize(
    "name", ["", ".", "none.yaml", "no-such-name", "a\0b", "\ud800", "x" * 5000, "x/" * 3000, "\x1b[31m"]
)
def test_a_name_that_is_none_is_told(name: str) -> None:
    for command in ("validate", "run"):
        err = refused(command, name)
        assert err.startswith("chaoskafka: ")
        assert err.replace("\n", "").isprintable()
        assert len(err) < 1000


@pytest.mark.parametrize("stem", ["a b", "a;b", "ä", "x" * 201, "-"])
def test_a_file_s_name_that_cannot_name_a_directory_is_told(here: Path, stem: str) -> None:
    (here / f"{stem}.yaml").write_text(GOOD)
    if stem == "-":
        assert CliRunner().invoke(app, ["validate", "./-.yaml"]).exit_code == 0
    else:
        assert "the file's name" in refused("run", f"./{stem}.yaml")


def test_what_stands_in_a_name_reaches_no_terminal(here: Path) -> None:
    (here / "\x1b[31m\nx.yaml").write_text("title: 5")
    err = refused("validate", "\x1b[31m\nx.yaml")
    assert "\x1b" not in err
    assert r"\x1b[31m" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--seed", "x"], "'x' is not a whole number between 0 and 9223372036854775807"),
        (["--seed", "-1"], "'-1' is not a whole number between 0"),
        (["--seed", "9" * 5000], "is not a whole number"),
        (["--seed", "9" * 20], "is not a whole number"),
        (["--seed", "1_000"], "'1_000' is not a whole number"),
        (["--timeout-s", "0"], "'0' is not a number of seconds between 1 and 604800"),
        (["--timeout-s", "-5"], "'-5' is not a number of seconds"),
        (["--timeout-s", "nan"], "'nan' is not a number of seconds"),
        (["--timeout-s", "inf"], "'inf' is not a number of seconds"),
        (["--timeout-s", "5m"], "'5m' is not a number of seconds"),
        (["--repeat", "0"], "'0' is not a whole number between 1 and 1000"),
        (["--out", "x.yaml"], "x.yaml: cannot hold run directories: File exists"),
        (["--out", "x.yaml/below"], "x.yaml/below: cannot hold run directories: Not a directory"),
        (["--out", "/proc"], "/proc: cannot hold run directories: "),
        (["--out", "/dev/null"], "/dev/null: cannot hold run directories: File exists"),
        (["--junit", "."], ".: cannot be written: Is a directory"),
        (["--json", "/dev/null/x"], "/dev/null/x: cannot be written: "),
        (["--set", "cluster.nodes"], "--set cluster.nodes: write it as PATH=VALUE"),
        (["--set", "cluster.nodes=0"], "--set cluster.nodes=0: cluster.nodes: 0 is not between 1 and 50"),
        (["--no-such"], "No such option: --no-such"),
    ],
)
def test_a_bad_argument_is_told_before_anything_starts(here: Path, words: list[str], told: str) -> None:
    (here / "x.yaml").write_text(GOOD)
    assert told in plain(refused("run", "x.yaml", *words))


def test_a_report_for_a_pipe_that_nobody_reads_does_not_hang(here: Path) -> None:
    (here / "x.yaml").write_text(GOOD)
    os.mkfifo(here / "pipe")
    assert "pipe: cannot be written: " in refused("run", "x.yaml", "--junit", "pipe")


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("CHAOSKAFKA_SEED", "x", "'x' is not a whole number"),
        ("CHAOSKAFKA_SEED", "-1", "'-1' is not a whole number"),
        ("CHAOSKAFKA_TIMEOUT_S", "nan", "'nan' is not a number of seconds"),
        ("CHAOSKAFKA_TIMEOUT_S", "0", "'0' is not a number of seconds"),
        ("CHAOSKAFKA_OUT", "x.yaml", "x.yaml: cannot hold run directories: File exists"),
        ("CHAOSKAFKA_SET", "cluster.nodes", "cluster.nodes: write it as PATH=VALUE"),
        (
            "CHAOSKAFKA_SET",
            "seed=1; cluster.nodes=x",
            "cluster.nodes=x: cluster.nodes: expected a whole number, got 'x'",
        ),
    ],
)
def test_a_bad_variable_is_named(here: Path, variable: str, value: str, told: str) -> None:
    (here / "x.yaml").write_text(GOOD)
    err = plain(refused("run", "x.yaml", env={variable: value}))
    assert variable in err
    assert told in err


def test_a_folder_of_odd_scenarios_can_be_listed(here: Path) -> None:
    scenarios = here / "scenarios"
    scenarios.mkdir()
    (scenarios / "folder.yaml").mkdir()
    os.mkfifo(scenarios / "pipe.yaml")
    (scenarios / "loop.yaml").symlink_to("loop.yaml")
    (scenarios / "red\x1b[31m.yaml").write_text("title: 5")
    done = CliRunner().invoke(app, ["list"])
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert done.stdout.count("cannot be loaded") == 4


def plain(said: str) -> str:
    """Without the frame and the line breaks that the command line's library draws around its own messages."""
    return " ".join(said.replace("│", " ").split())
