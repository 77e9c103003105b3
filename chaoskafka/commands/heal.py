"""`chaoskafka heal`: take back what dead runs broke, and remove what they left behind."""

from __future__ import annotations

from chaoskafka.commands.output import complain, say
from chaoskafka.errors import EnvironmentFailure, ExitCode
from chaoskafka.runtimes import locks
from chaoskafka.runtimes.docker import sweep as docker
from chaoskafka.runtimes.process import sweep as process
from chaoskafka.runtimes.report import SweepReport


def main(*, all_runs: bool, keep: bool) -> ExitCode:
    """Blocks while containers are removed. Raises EnvironmentFailure, WaitTimeout."""
    # Processes first, and what is found of them forgotten: else an engine would be asked for it. What a dead run broke
    # there is taken back by their end only.
    reports = [] if keep else [process.sweep(all_runs=all_runs)]
    reports.append(_of_docker(all_runs=all_runs, keep=keep))
    for report in reports:
        _tell(report)
    if not any(report.undone or report.removed or report.left_alone for report in reports):
        say("nothing to heal")
    return ExitCode.PASS


def _of_docker(*, all_runs: bool, keep: bool) -> SweepReport:
    """Without an engine there is nothing to heal in it, unless a dead run left traces here: then that is an error."""
    try:
        return docker.sweep(all_runs=all_runs, keep=keep)
    except EnvironmentFailure as failed:
        if all_runs or locks.dead_runs():
            raise
        complain(f"chaoskafka: containers were not looked for: {failed.problem}")
        return SweepReport()


def _tell(report: SweepReport) -> None:
    for run_id, deeds in report.undone.items():
        for deed in deeds:
            say(f"undone {run_id}: {deed}")
    for run_id, names in report.removed.items():
        say(f"removed {run_id}: {', '.join(names) or 'only its traces in the state directory were left'}")
    for run in report.left_alone:
        say(f"left alone {run.run_id}: {run.why}")
