"""The engine's own errors, as images meet them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import requests
from docker.errors import APIError

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images.build import are_current, ensure, listed


@pytest.mark.parametrize("failed", [APIError("no space left"), requests.exceptions.ReadTimeout("no answer")])
@pytest.mark.parametrize("ask", [lambda c: are_current("4.2.0", c), lambda c: ensure("4.2.0", client=c), listed])
def test_what_the_engine_refuses_is_the_environment_and_no_bug(ask: Any, failed: Exception) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise failed

    engine = SimpleNamespace(images=SimpleNamespace(get=refuse, list=refuse))
    with pytest.raises(EnvironmentFailure, match=str(failed)):
        ask(engine)
