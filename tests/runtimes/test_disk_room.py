"""Room on the engine's disk, as a container says it: lost words are asked for again, and nothing is taken for room."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from chaoskafka.errors import CommandFailed, EnvironmentFailure
from chaoskafka.machine import NODE_DISK_MIB
from chaoskafka.runtimes.docker import room

PLENTY, LITTLE = f"Avail\n{10 * NODE_DISK_MIB}\n", "Avail\n1\n"


def asked(monkeypatch: pytest.MonkeyPatch, *answers: tuple[int, str]) -> list[tuple[int, str]]:
    """What is left of the answers afterwards."""
    left = list(answers)
    monkeypatch.setattr(room, "execute", lambda *_: left.pop(0))
    engine: Any = None
    container: Any = SimpleNamespace(name="node-1-host")
    room.check_disk(engine, container, "/data", nodes=1)
    return left


def test_an_answer_that_was_lost_on_its_way_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, (0, ""), (0, PLENTY), (0, PLENTY)) == [(0, PLENTY)]


@pytest.mark.parametrize("answers", [[(0, "")] * room.ASKED_MAX, [(1, "")], [(0, "df: what?")]])
def test_without_an_answer_there_is_no_room(monkeypatch: pytest.MonkeyPatch, answers: list[tuple[int, str]]) -> None:
    with pytest.raises(CommandFailed, match="df /data in the container node-1-host"):
        asked(monkeypatch, *answers)


def test_too_little_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentFailure, match="the engine's disk"):
        asked(monkeypatch, (0, LITTLE))
