"""`chaoskafka down`: remove a cluster that stands."""

from __future__ import annotations

from chaoskafka import by_hand
from chaoskafka.commands.output import say
from chaoskafka.errors import ExitCode


def main(cluster: str | None) -> ExitCode:
    """Blocks while containers are removed. Raises UsageError, EnvironmentFailure, WaitTimeout."""
    found = by_hand.find(cluster)
    say(f"removed {found.run_id}: {', '.join(by_hand.down(found))}")
    return ExitCode.PASS
