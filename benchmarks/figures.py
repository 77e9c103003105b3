"""`python -m benchmarks.figures`: writes the figures of results/*.json into README.md and docs/benchmarks.md.

Text between `<!-- figures: NAME -->` and `<!-- end of figures -->` is replaced; a test holds it equal to the results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
_PLACE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)

Result = Mapping[str, Any]


def results() -> dict[str, Result]:
    """What is committed, by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}


def written(page: str, found: Mapping[str, Result]) -> str:
    """A page with its figures renewed; what was not measured yet says so. Pure."""

    def renewed(place: re.Match[str]) -> str:
        name = place[2]
        if name == "overview":
            text = _table(("what", "chaoskafka", "compared with", "ratio"), list(_overview(found)))
        else:
            text = _whole(found[name]) if name in found else "Not measured yet."
        return f"{place[1]}\n{text}\n\n{place[3]}"

    return _PLACE.sub(renewed, page)


def _overview(found: Mapping[str, Result]) -> Iterator[tuple[str, str, str, str]]:
    """The README's rows: medians only."""

    def at(name: str, label: str, digits: int) -> str:
        each = found[name]["series"][label]
        return f"{each['median']:,.{digits}f} {each['unit']}".strip()

    if "forming" in found:
        yield (
            "a cluster of three, from nothing to formed",
            at("forming", "chaoskafka", 1),
            f"{at('forming', 'plain start', 1)}: a plain start of the same jars",
            at("forming", "ratio", 2),
        )
        yield "noticing that it has formed", at("forming", "last unfenced to formed", 2), "", ""
    if "producing" in found:
        yield (
            "producing flat out, each message recorded",
            at("producing", "recorded", 0),
            f"{at('producing', 'counted', 0)}: the same client, only counting",
            at("producing", "ratio", 2),
        )
    if "judging" in found:
        yield (
            "judging 1,000,000 messages by every check",
            f"{at('judging', 'chaoskafka check', 2)}, {at('judging', 'chaoskafka check, peak', 0)}",
            f"{at('judging', 'read and group', 2)}: only reading and grouping the tables",
            at("judging", "ratio of times", 1),
        )
    if "starting" in found:
        yield (
            "`chaoskafka --help`",
            at("starting", "chaoskafka --help", 0),
            f"{at('starting', 'python -c pass', 0)}: `python -c pass`",
            at("starting", "ratio", 2),
        )
    if "demo" in found:
        needs = f"{at('demo', 'what Kafka needs', 0)}: what Kafka itself needs of it"
        yield "`make demo`, when all is set up", at("demo", "the demo", 0), needs, at("demo", "ratio", 2)


def _whole(result: Result) -> str:
    """All that was measured by one benchmark."""
    rows = [
        (
            label,
            f"{each['median']:g} {each['unit']}".strip(),
            f"{each['q1']:g} to {each['q3']:g}",
            f"{each['min']:g} to {each['max']:g}",
        )
        for label, each in result["series"].items()
    ]
    machine, versions = (
        result["machine"],
        ", ".join(f"{name} {version}" for name, version in result["versions"].items()),
    )
    count = len(next(iter(result["series"].values()))["samples"])
    where = f"{machine['cores']} cores ({machine['architecture']}), {machine['memory_gib']} GiB"
    goals = [
        f"- {goal['what']}: {goal['value']:g} {goal['unit']}".rstrip()
        + (f", at most {goal['at_most']:g}" if goal["at_most"] is not None else f", at least {goal['at_least']:g}")
        + (": met" if goal["met"] else ": **missed**")
        for goal in result["goals"]
    ]
    told = f"{result['date']}, {count} of each, {where}; {versions}"
    return "\n".join(
        [_table(("", "median", "quartiles", "min to max"), rows), "", *goals, *([""] if goals else []), told]
    )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Rewrite the pages."""
    found = results()
    for page in PAGES:
        page.write_text(written(page.read_text(), found))


if __name__ == "__main__":
    main()
