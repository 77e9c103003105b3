"""Targets: who a fault hits, looked up when it is injected."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A target as written, e.g. `leader of orders/0, not active controller`."""

    text: str
