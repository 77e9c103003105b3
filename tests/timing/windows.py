"""Fault windows for tests."""

from __future__ import annotations

from chaoskafka.history.events import FaultWindow

S = 1_000_000_000


def window(acted_s: float, healed_s: float | None, *, asked_s: float | None = None) -> FaultWindow:
    """A proven fault on broker 1, from `acted_s` (at the latest) to `healed_s` (None: never)."""
    return FaultWindow(
        index=0,
        word="kill",
        targets=(1,),
        evidence={},
        proof={"seen": True},
        heal_proof=None,
        beginning_ns=0,
        acted_ns=int(acted_s * S),
        active_ns=int(acted_s * S),
        healing_ns=None,
        healed_ns=int(healed_s * S) if healed_s is not None else None,
        failure=None,
        asked_ns=int(asked_s * S) if asked_s is not None else None,
    )
