"""A file's bytes become a tree that knows its lines, and nothing that a scenario does not need gets in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.errors import ScenarioError
from chaoskafka.scenario.source import DEPTH_MAX, SCENARIO_MAX_BYTES, read_tree, show


def test_lines_are_those_of_the_keys() -> None:
    tree = read_tree("a:\n  b: 1\nc:\n  - 2\n  - d: 3\n", "x.yaml")
    assert tree.value == {"a": {"b": 1}, "c": [2, {"d": 3}]}
    assert tree.origin(("a", "b")).line == 2
    assert tree.origin(("c", 1, "d")).line == 5
    assert tree.origin(("c", 1, "missing")).line == 5  # the nearest thing around it


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("4.2.0", "4.2.0"),
        ("010", 10),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("2026-01-01", "2026-01-01"),
        ("true", True),
        ("~", None),
        ("", None),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ('"8"', "8"),
        ("123456789012345678901234", "123456789012345678901234"),
    ],
)
def test_scalars_follow_the_core_rules_of_yaml_1_2(written: str, value: object) -> None:
    found = read_tree(f"a: {written}", "x.yaml").value["a"]
    assert found == value
    assert type(found) is type(value)


def test_the_question_is_the_first_comment() -> None:
    assert read_tree("# Is it\n# safe?\n\n# not this\na: 1", "x").question == "Is it safe?"
    assert read_tree("# Is it safe?\n#\n# An explanation.\na: 1", "x").question == "Is it safe?"
    assert read_tree("a: 1\n# later", "x").question == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("a: &x 1\nb: *x", "anchors and aliases"),
        ("a: *x", "anchors and aliases"),
        ("a: !!python/object:os.system x", "tags are not allowed"),
        ("a: !!str 5", "tags are not allowed"),
        ("a: 1\n---\nb: 2", "a second document"),
        ("a: 1\na: 2", "written twice"),
        ("? [x]\n: 1", "a key must be text"),
        ("a: [1", "not YAML"),
        ("a: b: c", "not YAML"),
        ("a: \x07", "not YAML"),
        ("[" * (DEPTH_MAX + 1), "nested deeper"),
        ("[" * 20000, "nested deeper"),
        (b"a: \xff", "not UTF-8"),
        ("a: 1 #" + "x" * SCENARIO_MAX_BYTES, "bytes"),
    ],
)
def test_what_is_no_scenario_is_refused(text: str | bytes, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem) as caught:
        read_tree(text, "x.yaml")
    assert caught.value.file == "x.yaml"


def test_an_error_of_syntax_has_its_line() -> None:
    with pytest.raises(ScenarioError) as caught:
        read_tree("a: 1\nb: [1\nc: 2\n", "x.yaml")
    assert caught.value.line == 3


def test_paths_read_as_they_are_written() -> None:
    assert show(("plan", 0, "kill", "for_s")) == "plan[0].kill.for_s"
    assert show(("cluster", "config", "num.io.threads")) == 'cluster.config["num.io.threads"]'
    assert show(()) == ""


@given(st.one_of(st.text(max_size=200), st.binary(max_size=200)))
def test_any_bytes_are_a_tree_or_a_scenario_error(text: str | bytes) -> None:
    try:
        tree = read_tree(text, "x.yaml")
    except ScenarioError:
        return
    assert tree.origin(()).file == "x.yaml"
