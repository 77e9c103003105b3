"""The README and the tutorial keep their word: scenarios load, commands and links exist, exit codes are ours."""

from __future__ import annotations

import re
from pathlib import Path

from chaoskafka.cli import app
from chaoskafka.errors import ExitCode
from chaoskafka.scenario.load import load_text

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_its_scenario_loads() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert [step.word for step in load_text(text, name="readme").plan] == ["kill"]


def test_what_the_tutorial_writes_and_types_exists() -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text()
    (scenario,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    settings = re.findall(r"--set '?([^' \n]+)", text)
    assert [step.word for step in load_text(scenario, name="frozen", settings=settings).plan] == ["pause"]
    (test,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert test in README, "the first test is the same everywhere"
    typed = set(re.findall(r"^chaoskafka (\w+)", text, re.MULTILINE))
    assert typed <= {command.name or command.callback.__name__ for command in app.registered_commands} | {"image"}
    assert {"run", "stats", "compare", "explain"} <= typed


def test_its_make_targets_exist() -> None:
    targets = set(re.findall(r"^make (\w+)", README, re.MULTILINE))
    assert {"demo", "test"} <= targets
    assert targets <= set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_its_exit_codes_are_all_of_ours() -> None:
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)} == set(ExitCode)
