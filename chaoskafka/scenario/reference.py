"""The reference of all words, made from the values themselves, so that it cannot fall behind them.

In: the catalogue. Out: Markdown, one table per word: key, what it takes, default, meaning (the comment on the field).
`python -m chaoskafka.scenario.reference docs/scenarios.md` renews what stands there between the two markers.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from enum import Enum
from pathlib import Path
from typing import Any, get_type_hints

from chaoskafka import pages
from chaoskafka.cluster.conditions import MEANINGS
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.scenario.bind import wanted
from chaoskafka.scenario.catalogue import Kind, find, members
from chaoskafka.scenario.control import Control
from chaoskafka.scenario.nodes import LISTS, NODES


def reference() -> str:
    """The whole reference. Imports every member."""
    parts = [*_section("cluster", ClusterSpec, level=2), *_section("topics.NAME", TopicSpec, level=2)]
    for kind in Kind:
        parts += [f"## {kind.value.capitalize()}", ""]
        for word in members(kind):
            parts += _section(word, find(kind, word), level=3)
        if kind is Kind.FAULT:
            parts += _plan()
    parts += _section("control", Control, level=2)
    return "\n".join(parts)


def renewed(document: str) -> str:
    """`document` with the reference between its markers. Raises ValueError when it has none."""
    return pages.renewed(document, "words", reference())


def _section(word: str, kind: type, *, level: int) -> Iterator[str]:
    yield from (f"{'#' * level} `{word}`", "", summary_of(kind), "")
    own = [field for field in fields(kind) if field.init]
    if not own:
        yield from ("No keys: write the word alone.", "")
        return
    hints, meanings = get_type_hints(kind), _meanings(kind)
    yield from ("| key | takes | default | meaning |", "| --- | --- | --- | --- |")
    for field in own:
        takes = wanted(hints[field.name])
        yield f"| `{field.name}` | {takes} | {_default(field)} | {meanings.get(field.name, '')} |"
    yield ""


def _plan() -> Iterator[str]:
    """The words that put faults together, and the conditions."""
    yield from ("## Faults put together", "")
    for word, keys in NODES.items():
        if word in LISTS:
            (steps,) = _meanings(keys).values()
            yield from (f"### `{word}`", "", summary_of(keys), "", f"Takes a list: {steps}.", "")
        else:
            yield from _section(word, keys, level=3)
    yield from ("## Conditions", "", "| condition | takes | holds when |", "| --- | --- | --- |")
    yield from (f"| `{word}` | {takes} | {meaning} |" for word, (takes, meaning) in MEANINGS.items())
    yield ""


def summary_of(kind: type) -> str:
    said = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
    return re.sub(r" Raises ValueError[^.]*\.", "", said)  # for those who write Python, not YAML


def _default(field: Field[Any]) -> str:
    if field.default is MISSING:
        return "needed" if field.default_factory is MISSING else "empty"
    if field.default is None:
        return "none"
    shown = field.default.value if isinstance(field.default, Enum) else field.default
    return f"`{shown}`"


def _meanings(kind: type) -> dict[str, str]:
    """The comment behind each field, which is where its unit and its reason are said."""
    found = re.findall(r"^    (\w+): .*?  # (.+)$", inspect.getsource(kind), flags=re.MULTILINE)
    return {name: meaning.replace("|", "\\|") for name, meaning in found}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(renewed(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
