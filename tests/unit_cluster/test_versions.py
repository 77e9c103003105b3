"""Supported releases, and that versions are compared nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import chaoskafka
from chaoskafka.cluster import versions
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.versions import DEFAULT, RELEASES, near, release_of
from chaoskafka.errors import UsageError

PACKAGE = Path(chaoskafka.__file__).parent
VERSION = re.compile(r"4\.\d+(\.\d+)?")


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_means_itself(release: str) -> None:
    assert release_of(release) == release


def test_a_line_means_its_newest_release() -> None:
    assert [release_of(line) for line in ("4.0", "4.1", "4.2", "4.3", "4.4")] == list(RELEASES)
    assert ClusterSpec(kafka="4.0").release == RELEASES[0]
    assert ClusterSpec().release == DEFAULT


@pytest.mark.parametrize("written", ["4.2.1", "4.20", "4.4.0-rc1", "4", "4.", "", "latest", "3.9.0"])
def test_an_unknown_version_names_the_known_ones(written: str) -> None:
    with pytest.raises(UsageError, match=r"4\.0, 4\.0\.2, .*, 4\.4, 4\.4\.0"):
        release_of(written)
    with pytest.raises(UsageError):
        _ = ClusterSpec(kafka=written).release


@pytest.mark.parametrize(("written", "guess"), [("4.2.0", "4.2.2"), ("4.4.0-rc1", "4.4.0"), ("5.0", None), ("4", None)])
def test_a_guess_stays_on_the_line(written: str, guess: str | None) -> None:
    assert near(written) == guess


def test_no_other_module_knows_a_version_of_kafka() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in PACKAGE.rglob("*.py")
        if path != Path(versions.__file__)
        for line, text in texts(ast.parse(path.read_text()))
        if VERSION.fullmatch(text)
    ]
    assert found == []


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text in the code that is no sentence, with its line; f-strings' parts too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
