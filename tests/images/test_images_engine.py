"""The engine's own errors, as images meet them."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from docker.errors import APIError

from chaoskafka.cluster.versions import DEFAULT
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import engine as engine_module
from chaoskafka.images.build import are_current, ensure, listed


@pytest.mark.parametrize("failed", [APIError("no space left"), requests.exceptions.ReadTimeout("no answer")])
@pytest.mark.parametrize("ask", [lambda c: are_current(DEFAULT, c), lambda c: ensure(DEFAULT, client=c), listed])
def test_what_the_engine_refuses_is_the_environment_and_no_bug(ask: Any, failed: Exception) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise failed

    engine = SimpleNamespace(images=SimpleNamespace(get=refuse, list=refuse))
    with pytest.raises(EnvironmentFailure, match=str(failed)):
        ask(engine)


def test_only_what_is_old_foreign_and_not_needed_is_removed() -> None:
    removed: list[str] = []

    def remove(name: str) -> None:
        if name == "chaoskafka/kafka:needed":
            raise APIError("conflict: a container uses it")
        removed.append(name)

    made = [
        ("chaoskafka/kafka:old", "2026-11-01T12:00:00.123456789Z"),
        ("chaoskafka/kafka:ours", "2026-11-01T12:00:00Z"),
        ("chaoskafka/kafka:needed", "2026-11-01T12:00:00.1234567Z"),
        ("chaoskafka/kafka:recent", "2026-11-29T12:00:00.5+01:00"),
    ]
    images = [SimpleNamespace(tags=[name], attrs={"Created": created}) for name, created in made]
    engine: Any = SimpleNamespace(images=SimpleNamespace(list=lambda **_: images, remove=remove))
    gone = engine_module.remove_older(
        engine, than=datetime(2026, 11, 22, tzinfo=UTC), spare=frozenset({"chaoskafka/kafka:ours"})
    )
    assert gone == removed == ["chaoskafka/kafka:old"]
