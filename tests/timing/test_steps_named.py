"""The steps of failovers are the same in the list that rules take, in the code that times them, and in the docs."""

from __future__ import annotations

import re
from pathlib import Path

from chaoskafka.timing.times import STEPS

ROOT = Path(__file__).parents[2]


def test_every_step_is_explained_in_this_order() -> None:
    section = (ROOT / "docs" / "timing.md").read_text().partition("\n## Steps\n")[2].partition("\n### ")[0]
    assert tuple(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == STEPS


def test_every_step_is_timed() -> None:
    source = (ROOT / "chaoskafka" / "timing" / "phases.py").read_text()
    assert [step for step in STEPS if f'"{step}"' not in source] == []
