"""One file, one check; the file's name is the YAML word, its class the same word in CamelCase. Pure.

A check is a frozen keyword-only dataclass whose fields are its YAML keys; `check(history)` answers with a Verdict.
Checks never import each other, a client, an engine or a clock.
"""

from __future__ import annotations

from typing import Protocol

from chaoskafka.history.read import History
from chaoskafka.verdict import Verdict


class Check(Protocol):
    """What every check offers."""

    def check(self, history: History) -> Verdict: ...
