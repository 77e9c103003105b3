"""The scenarios and suites that are shipped, as a page shows them, made from their files so that it cannot fall behind.

In: `scenarios/`. Out: Markdown. `python -m chaoskafka.scenario.shipped docs/suites.md` renews what stands there between
the two markers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from chaoskafka import pages
from chaoskafka.scenario.expected import expected_s
from chaoskafka.scenario.find import SHIPPED, name_of
from chaoskafka.scenario.load import load_scenario
from chaoskafka.scenario.suites import FOLDER, Suite, read_suite


def shipped() -> str:
    """Both tables. Raises ScenarioError for a file that is wrong."""
    files = {name_of(path, SHIPPED): path for path in sorted(SHIPPED.rglob("*.yaml")) if path.parent.name != FOLDER}
    suites = [read_suite(path, files) for path in sorted((SHIPPED / FOLDER).glob("*.yaml"))]
    times = {name: expected_s(load_scenario(path)) for name, path in files.items()}
    lines = ["| suite | asks | scenarios | expected |", "| --- | --- | --- | --- |"]
    for suite in suites:
        total_s = sum(times[member.name] for member in suite.members)
        lines.append(f"| `{suite.name}` | {suite.question} | {len(suite.members)} | {total_s / 60:.1f} min |")
    lines += ["", "| scenario | asks | suites | expected |", "| --- | --- | --- | --- |"]
    for name, path in files.items():
        holding = ", ".join(f"`{suite}`" for suite in _holding(name, suites))
        lines.append(f"| `{name}` | {load_scenario(path).question} | {holding} | {times[name]:.0f} s |")
    return "\n".join([*lines, ""])


def renewed(document: str) -> str:
    """`document` with the tables between its markers. Raises ValueError when it has none."""
    return pages.renewed(document, "shipped", shipped())


def _holding(name: str, suites: list[Suite]) -> Iterator[str]:
    for suite in suites:
        if any(member.name == name for member in suite.members):
            yield suite.name


if __name__ == "__main__":
    for each in sys.argv[1:]:
        Path(each).write_text(renewed(Path(each).read_text(encoding="utf-8")), encoding="utf-8")
