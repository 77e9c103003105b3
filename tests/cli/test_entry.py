"""The command's entry: what it answers by itself is what the command line would say, only sooner."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from chaoskafka import __version__
from chaoskafka.__main__ import HELP, main
from chaoskafka.cli import app
from chaoskafka.errors import ExitCode

RUN_AS_MAIN = """
import runpy, sys
sys.argv = ["chaoskafka", "--help"]
before = set(sys.modules)
runpy.run_module("chaoskafka", run_name="__main__")
sys.exit(",".join(sorted({name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)))
"""


def test_the_help_is_that_of_the_command_line() -> None:
    assert CliRunner().invoke(app, ["--help"], prog_name="chaoskafka", terminal_width=78).stdout == HELP
    assert max(map(len, HELP.splitlines())) <= 80


def test_the_help_imports_nothing_but_our_package() -> None:
    done = subprocess.run([sys.executable, "-c", RUN_AS_MAIN], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr.strip()) == (HELP, "chaoskafka")


def test_the_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["chaoskafka", "--version"])
    main()
    assert capsys.readouterr().out == f"{__version__}\n"


def test_all_else_goes_to_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["chaoskafka", "validate", "nothing-such"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == ExitCode.USAGE
    assert "nothing-such" in capsys.readouterr().err
