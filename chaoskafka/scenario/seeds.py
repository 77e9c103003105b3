"""The seed of a run: of every choice in it. In: chance, where nobody names one. Out: a number."""

from __future__ import annotations

import secrets

SEED_MAX = 2**63 - 1  # whatever holds seeds as 64-bit numbers can hold this one
_DRAWN_BELOW = 2**32  # short enough to be typed again


def draw() -> int:
    """A seed that nobody has chosen."""
    return secrets.randbelow(_DRAWN_BELOW)
