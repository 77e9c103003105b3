"""The files for CI systems: valid by the systems' own schemas, and every command in them is one."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from chaoskafka.cli import app

CI = Path(__file__).parents[1] / "ci"
SCHEMAS = {
    "github-actions.yml": ["--builtin-schema", "vendor.github-workflows"],
    "gitlab-ci.yml": ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
}


def test_each_file_has_its_schema() -> None:
    assert {path.name for path in CI.iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_fits_its_schema(name: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", *SCHEMAS[name], str(CI / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def scripts(value: Any) -> list[str]:
    """Every line of shell in a document, whatever step it stands in."""
    if isinstance(value, dict):
        found = [text for key in ("run", "script", "before_script", "after_script") for text in _lines(value.get(key))]
        return found + [text for below in value.values() for text in scripts(below)]
    return [text for below in value for text in scripts(below)] if isinstance(value, list) else []


def _lines(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [line.strip() for text in texts for line in str(text).splitlines()]


def commands(name: str) -> list[list[str]]:
    """The calls of chaoskafka in a file, as words."""
    document = yaml.safe_load((CI / name).read_text())
    lines = [line.removeprefix("exec ") for line in scripts(document)]
    found = [line for line in lines if line.startswith("chaoskafka ")]
    return [shlex.split(re.sub(r"\$\{\{ matrix\.kafka \}\}|\$KAFKA", "4.2", line))[1:] for line in found]


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_call_is_one_that_the_command_line_takes(name: str) -> None:
    called = commands(name)
    assert {"image", "doctor", "run", "heal"} <= {words[0] for words in called}
    for words in called:
        command = typer.main.get_command(app)
        while hasattr(command, "commands"):
            command, words = command.commands[words[0]], words[1:]  # noqa: PLW2901 - down into a group
        command.make_context("chaoskafka", words)  # raises for what it does not take


def test_what_is_written_is_what_is_kept() -> None:
    """An artifact that nothing writes would be missing without a word."""
    for name in SCHEMAS:
        text = (CI / name).read_text()
        for path in ("runs/junit.xml", "runs/results.json", "runs/summary.md", "runs/failed.tar.gz"):
            assert path in text
        (run,) = [words for words in commands(name) if words[0] == "run"]
        assert run[run.index("--junit") + 1] == "runs/junit.xml"
        assert run[run.index("--bundle") + 1] == "runs/failed.tar.gz"
