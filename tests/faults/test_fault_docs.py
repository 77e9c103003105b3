"""docs/faults.md has a section for each fault that there is."""

from __future__ import annotations

from pathlib import Path

from chaoskafka.scenario.catalogue import Kind, members

TOLD = (Path(__file__).parents[2] / "docs" / "faults.md").read_text(encoding="utf-8")


def test_each_word_has_a_section() -> None:
    assert [word for word in members(Kind.FAULT) if f"\n## `{word}`\n" not in TOLD] == []
