"""Plain values bind strictly, and every problem has its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Literal

import pytest

from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.scenario.bind import BindError, bind, plain


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    name: str
    for_s: float | None = None
    acks: Literal["all", "1", 1] = "all"
    colour: Colour = Colour.RED
    limit: float | Literal["bound"] = "bound"
    inner: Inner = field(default_factory=Inner)
    many: tuple[Inner, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    target: Target | None = None
    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.name == "bad":
            raise ValueError("name: 'bad' is not good")


def problems(value: Any, kind: type = Part) -> dict[tuple[str | int, ...], str]:
    with pytest.raises(BindError) as caught:
        bind(kind, value)
    return {problem.path: problem.text for problem in caught.value.problems}


def test_a_whole_value_binds_and_comes_back() -> None:
    written = {
        "name": "x",
        "for_s": 5,
        "acks": 1,
        "colour": "blue",
        "limit": 1.5,
        "inner": {"count": 2},
        "many": [{"count": 3}, {}],
        "settings": {"a": 8, "b": True, "c": "text", "d": 0.5},
        "target": "leader of  orders/0",
    }
    value = bind(Part, written)
    assert value == Part(
        name="x",
        for_s=5.0,
        acks=1,
        colour=Colour.BLUE,
        limit=1.5,
        inner=Inner(count=2),
        many=(Inner(count=3), Inner()),
        settings={"a": "8", "b": "true", "c": "text", "d": "0.5"},
        target=Target("leader of orders/0"),
    )
    assert bind(Part, plain(value)) == value


@pytest.mark.parametrize(
    ("key", "wrong", "problem"),
    [
        ("name", 5, 'expected text, got 5; quote it to make it text: "5"'),
        ("name", None, "expected text, got null"),
        ("name", "bad", "'bad' is not good"),
        ("for_s", "15s", "expected a number, got '15s'"),
        ("for_s", True, "expected a number, got true"),
        ("for_s", float("inf"), "expected a number, got inf"),
        ("for_s", float("nan"), "expected a number, got nan"),
        ("acks", "al", "'al' is not allowed; did you mean 'all'?; allowed: 1, all"),
        ("acks", True, "true is not allowed"),
        ("colour", "rad", "'rad' is not allowed; did you mean 'red'?; allowed: blue, red"),
        ("limit", "bond", "expected a number or one of bound, got 'bond'"),
        ("inner", 5, "expected a mapping, got 5"),
        ("inner", None, "expected a mapping, got null"),
        ("many", "ab", "expected a list, got 'ab'"),
        ("many", {"count": 1}, "expected a list"),
        ("settings", [1], "expected a mapping, got [1]"),
        ("target", 5, "expected a target, got 5"),
        ("target", "ledaer of orders/0", "did you mean 'leader of'?"),
    ],
)
def test_a_wrong_value_says_what_is_wanted(key: str, wrong: object, problem: str) -> None:
    found = problems({"name": "x", key: wrong})
    assert problem in found[(key,)]


def test_every_problem_is_found_at_once_with_its_path() -> None:
    found = problems({"nam": "x", "inner": {"count": 1.0}, "many": [{}, {"cuont": 1}], "settings": {"a": None}})
    assert found[()] == "name is missing"
    assert found[("inner", "count")] == "expected a whole number, got 1.0"
    assert found[("many", 1, "cuont")] == "unknown key 'cuont'; did you mean 'count'?; allowed: count"
    assert found[("settings", "a")] == "expected text, got null"
    assert "did you mean 'name'?" in found[("nam",)]


def test_what_is_no_mapping_is_told_as_such() -> None:
    assert problems(None, ClusterSpec) == {(): "expected a mapping, got null"}


def test_a_value_s_own_validation_lands_on_its_field() -> None:
    assert set(problems({"partitions": 0}, TopicSpec)) == {("partitions",)}
    assert set(problems({"nodes": 99}, ClusterSpec)) == {("nodes",)}
