"""Headers of tapes that tests write."""

from __future__ import annotations

from chaoskafka.history.tape import FORMAT, TapeHeader


def tape_header(**changes: object) -> TapeHeader:
    """A producer's header with small segments."""
    fields: dict[str, object] = {
        "format": FORMAT,
        "run_id": "run",
        "worker": 1,
        "incarnation": 0,
        "role": "produce",
        "group": None,
        "topics": ("orders", "bills"),
        "clock": "CLOCK_MONOTONIC:test",
        "segment_bytes": 80 * 4,
    }
    return TapeHeader(**{**fields, **changes})  # type: ignore[arg-type]
