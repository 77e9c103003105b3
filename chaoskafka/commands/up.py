"""`chaoskafka up`: start a cluster that stands until `down`."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskafka import by_hand
from chaoskafka.commands.output import say
from chaoskafka.commands.progress import shown_on
from chaoskafka.errors import ExitCode
from chaoskafka.phases import RunClock, stop_on_signals
from chaoskafka.scenario.find import find_scenario
from chaoskafka.scenario.load import load_scenario, load_text
from chaoskafka.scenario.model import Scenario

DEFAULT_NAME = "standing"
# A whole scenario, so that --set means the same everywhere; only its cluster and its topics are looked at.
_WITHOUT_ONE = """
topics: {orders: {}}
workloads: [produce: {topic: orders}]
plan: [{after_s: 0, kill: {target: any, for_s: 1}}]
"""


def main(scenario: str | None, name: str | None, settings: Sequence[str], variable: Sequence[str]) -> ExitCode:
    """Blocks until the cluster has formed. Raises UsageError, EnvironmentFailure, WaitTimeout, Interrupted."""
    asked = _asked(scenario, settings, variable)
    run_id = name or DEFAULT_NAME
    with shown_on() as progress, stop_on_signals(progress) as stop:
        clock = RunClock(stop, timeout_s=None, on_tick=lambda: None)
        bootstrap = by_hand.up(asked, run_id=run_id, clock=clock, note=progress.note)
    say(f"cluster {run_id} stands: {len(asked.cluster.members)} nodes of Kafka {asked.cluster.release}")
    say(f"bootstrap.servers={','.join(bootstrap)}")
    say(f"topics: {', '.join(f'{topic} ({spec.partitions} partitions)' for topic, spec in asked.topics.items())}")
    say(f"look at it: chaoskafka status {run_id}; remove it: chaoskafka down {run_id}")
    return ExitCode.PASS


def _asked(scenario: str | None, settings: Sequence[str], variable: Sequence[str]) -> Scenario:
    if scenario is None:
        return load_text(_WITHOUT_ONE, name="up", settings=settings, variable=variable)
    return load_scenario(find_scenario(scenario), settings=settings, variable=variable)
