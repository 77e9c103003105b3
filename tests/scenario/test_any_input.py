"""Whatever is put in: a scenario, or one error with file, line and path; on the command line exit code 0 or 2."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from chaoskafka.cli import app
from chaoskafka.errors import ScenarioError
from chaoskafka.scenario.facts import scenario_facts
from chaoskafka.scenario.load import KEYS, load_text
from chaoskafka.scenario.plan import plan, plan_facts
from chaoskafka.visible import hidden
from tests.properties import examples
from tests.scenario.refused import GOOD

WORDS = [
    *KEYS,
    "orders",
    "produce",
    "consume",
    "kill",
    "topic",
    "group",
    "target",
    "for_s",
    "after_s",
    "nodes",
    "config",
]
WORDS += [
    "partitions",
    "replication_factor",
    "rate_per_s",
    "any",
    "leader of orders/0",
    "recovered",
    "unavailable",
    "<<",
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(st.characters(), max_size=8)
)
KEY = st.sampled_from(WORDS) | st.text(max_size=4)
TREES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(KEY, below, max_size=4), max_leaves=12
)
WHERE = re.compile(r"x\.yaml(:\d+)?: |--set ")
NODE = re.compile(r"x\.yaml:\d+: \S")


def loads_or_says_why(text: str | bytes, *settings: str) -> str | None:
    """The message, None for a scenario, which then is one through and through."""
    wrong = None
    try:
        scenario = load_text(text, name="x", file="x.yaml", settings=settings)
        json.dumps([scenario_facts(scenario), plan_facts(plan(scenario, 7))], allow_nan=False).encode()
    except ScenarioError as refused:
        wrong = refused
    messages = [str(wrong), *getattr(wrong, "__notes__", ())] if wrong is not None else []
    assert [message for message in messages if not (len(message) < 2000 and hidden(message) is None)] == []
    assert all(WHERE.match(message) for message in messages[:1]), messages
    return messages[0] if messages else None


@given(st.text(st.characters(codec="utf-8"), max_size=300) | st.binary(max_size=300))
@examples(50)
def test_any_text_and_any_bytes(text: str | bytes) -> None:
    loads_or_says_why(text)


@given(st.dictionaries(KEY, TREES, max_size=6) | TREES)
@examples(30)
def test_any_tree(tree: Any) -> None:
    message = loads_or_says_why(json.dumps(tree))
    assert message is not None
    assert NODE.match(message), message


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a tree, as its holder and its key there."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    for key in keys:
        yield value, key
        yield from places(value[key])


@given(st.data())
@examples(40)
def test_any_change_of_a_good_scenario(data: st.DataObject) -> None:
    tree = yaml.safe_load(GOOD)
    for _ in range(data.draw(st.integers(1, 2))):
        spots = list(places(tree))
        if not spots:
            break
        holder, key = data.draw(st.sampled_from(spots))
        match data.draw(st.sampled_from(["delete", "replace", "copy", "repeat"])):
            case "delete":
                del holder[key]
            case "replace":
                holder[key] = data.draw(TREES)
            case "copy":
                other, there = data.draw(st.sampled_from(spots))
                if there in (other if isinstance(other, dict) else range(len(other))):
                    holder[key] = json.loads(json.dumps(other[there]))
            case "repeat" if isinstance(holder, list):
                holder.append(json.loads(json.dumps(holder[key])))
    message = loads_or_says_why(json.dumps(tree, indent=1))
    assert message is None or NODE.match(message), message


@given(st.data())
@examples(30)
def test_any_slip_of_the_pen(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(GOOD)))
    until = data.draw(st.integers(at, min(len(GOOD), at + 12)))
    strange = st.text(st.sampled_from("{}[]:,-&*!|>%@`#'\"\\ \n\t?<~a0"), max_size=6)
    loads_or_says_why(GOOD[:at] + data.draw(strange) + GOOD[until:])


OPTIONS = [
    "--set",
    "--seed",
    "--repeat",
    "--timeout-s",
    "--junit",
    "--json",
    "--out",
    "--keep",
    "--help",
    "--version",
    "--",
]
ARGUMENT = (
    st.sampled_from([*OPTIONS, "good.yaml", "bad.yaml", ".", "leader-killed"])
    | st.sampled_from(["cluster.nodes=5", "plan[0]=", "topics={}", "7", "-1", "nan", "=", "title=&a x"])
    | st.text(st.characters(exclude_characters="/~"), max_size=12)  # what is written goes into this directory
)


@given(st.sampled_from(["validate", "run", "check", "list"]), st.lists(ARGUMENT, max_size=6))
@examples(8)
def test_any_arguments(command: str, words: list[str]) -> None:
    # With a bad scenario among them no run starts, whatever else is asked.
    asked = [command, *words] if command in ("list", "check") else [command, "bad.yaml", *words]
    if command == "check":
        asked = [word for word in asked if word not in ("--junit", "--json")]
    with TemporaryDirectory() as folder, chdir(folder), patch.dict(os.environ):
        for variable in [name for name in os.environ if name.startswith("CHAOSKAFKA_")]:
            del os.environ[variable]
        Path("good.yaml").write_text(GOOD)
        Path("bad.yaml").write_text("title: 5\n")
        done = CliRunner().invoke(app, asked)
        assert done.exit_code in (0, 2), done.output
        assert "Traceback" not in done.output
        assert sorted(path.name for path in Path().iterdir()) == ["bad.yaml", "good.yaml"]


@given(st.lists(ARGUMENT, min_size=1, max_size=3))
@examples(20)
def test_any_settings(settings: list[str]) -> None:
    loads_or_says_why(GOOD, *settings)
