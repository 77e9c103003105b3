"""How a run tells a person what it is doing. In: phases, statuses and notes from the run. Out: lines for somebody.

The bottom of the tree: whoever runs something takes a `Progress`; the command line decides how it looks.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Where a run reports to. Safe to call from any thread; never blocks for long; never raises."""

    def phase(self, number: int, name: str) -> None:
        """Phase `number` of the run begins."""
        ...

    def status(self, text: str) -> None:
        """What is going on right now: replaces the previous status on a terminal, rate-limited on plain output."""
        ...

    def note(self, text: str) -> None:
        """A line that stays: the seed, a fault that bites, who was hit."""
        ...


class Silent:
    """Tells nobody."""

    def phase(self, number: int, name: str) -> None: ...

    def status(self, text: str) -> None: ...

    def note(self, text: str) -> None: ...
