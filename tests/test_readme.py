"""The README keeps its word: its scenario loads, its commands and links exist, its exit codes are ours."""

from __future__ import annotations

import re
from pathlib import Path

from chaoskafka.errors import ExitCode
from chaoskafka.scenario.load import load_text

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_its_scenario_loads() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert [step.word for step in load_text(text, name="readme").plan] == ["kill"]


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
