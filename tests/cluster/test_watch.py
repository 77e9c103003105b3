"""`watch` round what a person does to a cluster that stands: here, to kill a broker by another command."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.sights import leadership
from chaoskafka.cluster.views import Views
from chaoskafka.errors import ExitCode
from chaoskafka.runtimes.docker.engine import Engine
from tests.cluster.terminal import Terminal, standing

pytestmark = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def terminal(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    with standing(engine, tmp_path_factory.mktemp("state")) as terminal:
        yield terminal


def bootstrap(terminal: Terminal) -> str:
    return str(terminal.status()["bootstrap_servers"][0])


def watched(terminal: Terminal, out: Path, *words: str) -> tuple[int, str, Any]:
    """Exit code, output, and the result, if there is one."""
    code, output = terminal.type("watch", "--bootstrap", bootstrap(terminal), "--out", str(out), *words)
    found = list(out.glob("watch/2*/result.json"))
    return code, output, json.loads(found[0].read_text()) if found else None


def test_a_broker_that_is_killed_is_seen_and_nothing_is_lost_or_left(terminal: Terminal, tmp_path: Path) -> None:
    inject = (sys.executable, "-m", "chaoskafka", "inject", "kill: {target: broker 2}", "--for-s", "8")
    code, output, result = watched(terminal, tmp_path, "--", *inject)
    assert code == ExitCode.PASS, output
    answers = {check["word"]: check["answer"] for check in result["checks"]}
    assert set(answers.values()) == {"pass"}, answers
    assert {"took_effect", "no_lost_acknowledged", "recovered", "ordered"} <= set(answers)
    (fault,) = result["faults"]
    assert (fault["word"], fault["targets"]) == ("command", [2])
    assert result["runtime"] == "external"
    host, _, port = bootstrap(terminal).rpartition(":")
    left = leadership(Views({1: Address(host, int(port))}).ask_all())
    assert [topic for topic, _ in left if topic.startswith("chaoskafka-watch")] == []


def test_a_command_that_does_nothing_leaves_the_question_open(terminal: Terminal, tmp_path: Path) -> None:
    words = ("--bites-when", "{fenced: , within_s: 5}", "--", "true")
    code, output, result = watched(terminal, tmp_path, *words)
    assert code == ExitCode.UNKNOWN, output
    assert "was not seen to bite" in output
    assert result["answer"] == "unknown"
