"""`chaoskafka heal`: take back what dead runs broke, and remove what they left behind."""

from __future__ import annotations

from chaoskafka.commands.output import say
from chaoskafka.errors import ExitCode
from chaoskafka.runtimes.docker.sweep import sweep


def main(*, all_runs: bool) -> ExitCode:
    """Blocks while containers are removed. Raises EnvironmentFailure, WaitTimeout."""
    report = sweep(all_runs=all_runs)
    for run_id, names in report.removed.items():
        for deed in report.undone.get(run_id, ()):
            say(f"undone {run_id}: {deed}")
        say(f"removed {run_id}: {', '.join(names) or 'only its traces in the state directory were left'}")
    for run in report.left_alone:
        say(f"left alone {run.run_id}: {run.why}")
    if not report.removed and not report.left_alone:
        say("nothing to heal")
    return ExitCode.PASS
