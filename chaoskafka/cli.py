"""The command line: what can be asked, and which exit code answers. Each command's work is in `chaoskafka.commands`.

In: arguments and CHAOSKAFKA_* variables (flags win over variables, variables over the file). Out: an exit code of
`errors.ExitCode`. A command's module is imported when it is called, so that `--help` stays fast and `validate` and
`check` need neither client nor engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chaoskafka import __version__
from chaoskafka.commands import CheckRequest, ReportFormat, ReportRequest, RunRequest, RuntimeName
from chaoskafka.commands.around import around
from chaoskafka.commands.groups import compose, image
from chaoskafka.commands.options import (
    Baseline,
    Bundle,
    FailIf,
    Jobs,
    Json,
    Junit,
    KeepRuns,
    Out,
    Repeat,
    RerunFailed,
    Runtime,
    Seed,
    Settings,
    Share,
    TimeoutS,
)
from chaoskafka.commands.performing import perform, variable

app = typer.Typer(
    name="chaoskafka",
    help="Chaos testing against real Apache Kafka: a verdict for each message, failover timed per partition.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain text can be searched, and boxes take half of the time of every `--help`
    pretty_exceptions_enable=False,
)
app.add_typer(around)
app.add_typer(image, name="image")
app.add_typer(compose, name="compose")


@app.command()
def run(  # noqa: PLR0913 - a command's options are its parameters
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCENARIO…", help="Files, directories, patterns, suites, names as `list` shows them."),
    ] = None,
    *,
    seed: Seed = None,
    repeat: Repeat = 1,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cluster running.")] = False,
    out: Out = Path("runs"),
    settings: Settings = None,
    timeout_s: TimeoutS = None,
    runtime: Runtime = RuntimeName.DOCKER,
    jobs: Jobs = 1,
    shard: Share = None,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Start no run after one that did not pass.")] = False,
    rerun_failed: RerunFailed = None,
    bundle: Bundle = None,
    keep_runs: KeepRuns = None,
    baseline: Baseline = None,
    fail_if: FailIf = None,
    junit: Junit = None,
    json: Json = None,
) -> None:
    """Play scenarios on clusters started for them, judge them, report."""
    request = RunRequest(
        scenarios=tuple(scenarios or ()),
        seed=seed,
        repeat=repeat,
        keep=keep,
        out=out,
        settings=tuple(settings or ()),
        variable=variable(),
        timeout_s=timeout_s,
        runtime=runtime,
        jobs=jobs or None,
        shard=shard,
        fail_fast=fail_fast,
        rerun_failed=rerun_failed,
        bundle=bundle,
        keep_runs=keep_runs,
        baseline=baseline,
        fail_if=tuple(fail_if or ()),
        junit=junit,
        json=json,
    )
    perform("run", lambda command: command.main(request))


@app.command()
def check(
    run_dirs: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Run directories.")],
    *,
    junit: Junit = None,
    json: Json = None,
) -> None:
    """Judge stored runs again, from their directories alone."""
    request = CheckRequest(run_dirs=tuple(run_dirs), junit=junit, json=json)
    perform("check", lambda command: command.main(request))


@app.command()
def report(
    run_dirs: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Run directories; several make one report.")],
    *,
    format_: Annotated[
        ReportFormat, typer.Option("--format", help="trace: a Trace Event file, which ui.perfetto.dev opens.")
    ] = ReportFormat.HTML,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Else: html, trace: in DIR, of several here; others: stdout."),
    ] = None,
) -> None:
    """Show stored runs as a page, a summary, a table or a trace."""
    request = ReportRequest(run_dirs=tuple(run_dirs), format=format_, out=out)
    perform("report", lambda command: command.main(request))


@app.command()
def explain(
    run_dir: Annotated[Path, typer.Argument(metavar="DIR", help="Run directory.")],
    message: Annotated[
        str | None,
        typer.Argument(metavar="[MESSAGE]", help="E.g. orders/0:0.0:11; without one: what went wrong first."),
    ] = None,
) -> None:
    """Tell why a stored run is not green, or what became of a message."""
    perform("explain", lambda command: command.main(run_dir, message))


@app.command()
def stats(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUNS…", help="Run directories, or directories that hold some.")
    ],
    *,
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Keep them as a baseline.")] = None,
) -> None:
    """Sum up the failover times of many runs, step by step."""
    perform("stats", lambda command: command.summed_up(runs, save))


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A baseline, a run directory, or one that holds some.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The same.")],
    *,
    fail_if: FailIf = None,
) -> None:
    """Compare the failover times of two sets of runs."""
    perform("stats", lambda command: command.compared(a, b, tuple(fail_if or ())))


@app.command()
def matrix(  # noqa: PLR0913 - a command's options are its parameters
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A matrix: docs/statistics.md.")],
    *,
    out: Out = Path("runs"),
    seed: Seed = None,
    settings: Settings = None,
    timeout_s: TimeoutS = None,
    runtime: Runtime = RuntimeName.DOCKER,
    jobs: Jobs = 1,
) -> None:
    """Play one scenario in many combinations, into one table."""
    request = RunRequest(
        scenarios=(),
        seed=seed,
        repeat=1,
        keep=False,
        out=out,
        settings=tuple(settings or ()),
        variable=variable(),
        timeout_s=timeout_s,
        runtime=runtime,
        jobs=jobs or None,
        junit=None,
        json=None,
    )
    perform("matrix", lambda command: command.main(file, request))


@app.command("list")
def list_words() -> None:
    """Show every word that scenarios can use, and the scenarios."""
    perform("words", lambda command: command.main())


@app.command()
def validate(
    scenarios: Annotated[list[str], typer.Argument(metavar="SCENARIO…", help="As `run` takes them.")],
    *,
    settings: Settings = None,
    runtime: Runtime = RuntimeName.DOCKER,
) -> None:
    """Load scenarios as a run would, and start nothing."""
    perform("validate", lambda command: command.main(scenarios, tuple(settings or ()), variable(), runtime))


@app.command()
def heal(
    *,
    all_runs: Annotated[
        bool, typer.Option("--all", help="Also what other machines started through the same engine.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Take back what they broke, and remove nothing.")] = False,
) -> None:
    """Take back what dead runs broke, and remove what they left behind."""
    perform("heal", lambda command: command.main(all_runs=all_runs, keep=keep))


@app.command()
def doctor(
    *,
    out: Annotated[Path, typer.Option(envvar="CHAOSKAFKA_OUT", help="Where run directories would go.")] = Path("runs"),
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the findings as JSON.")] = None,
) -> None:
    """Try what a run needs here, and say what mends the rest."""
    perform("doctor", lambda command: command.main(out, json))


def _version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=lambda wanted: _version(wanted=wanted), is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Chaos testing against real Apache Kafka: a verdict for each message, failover timed per partition."""


def main() -> None:
    """All of the command line; `__main__` has answered the simplest questions already."""
    app(prog_name="chaoskafka")
