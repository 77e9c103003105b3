"""The command line: what can be asked, and which exit code answers. Each command's work is in `chaoskafka.commands`.

In: arguments and CHAOSKAFKA_* variables (flags win over variables, variables over the file). Out: an exit code of
`errors.ExitCode`. A command's module is imported when it is called, so that `--help` stays fast and `validate` and
`check` need neither client nor engine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from chaoskafka import __version__
from chaoskafka.commands import CheckRequest, RunRequest
from chaoskafka.errors import ChaosKafkaError, ExitCode

app = typer.Typer(
    name="chaoskafka",
    help="Chaos testing against real Apache Kafka: a verdict for each message, failover timed per partition.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain text can be searched, and boxes take half of the time of every `--help`
    pretty_exceptions_enable=False,
)
image = typer.Typer(help="The images that clusters start from.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(image, name="image")

Junit = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write one result.json per line.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Replace a value of the scenario, e.g. plan[0].kill.for_s=8."),
]
Seed = Annotated[int | None, typer.Option(min=0, envvar="CHAOSKAFKA_SEED", help="Of every choice in the run.")]
TimeoutS = Annotated[float | None, typer.Option(min=1, envvar="CHAOSKAFKA_TIMEOUT_S", help="Bounds each whole run.")]


@app.command()
def run(  # noqa: PLR0913 - a command's options are its parameters
    scenarios: Annotated[list[str], typer.Argument(metavar="SCENARIO…", help="Files, or names as `list` shows them.")],
    *,
    seed: Seed = None,
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="Play each so often, with seed, seed+1, …")] = 1,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cluster running.")] = False,
    out: Annotated[Path, typer.Option(envvar="CHAOSKAFKA_OUT", help="Where run directories go.")] = Path("runs"),
    settings: Settings = None,
    timeout_s: TimeoutS = None,
    junit: Junit = None,
    json: Json = None,
) -> None:
    """Play scenarios on clusters started for them, judge them, report."""
    request = RunRequest(
        scenarios=tuple(scenarios),
        seed=seed,
        repeat=repeat,
        keep=keep,
        out=out,
        settings=_all_settings(settings),
        timeout_s=timeout_s,
        junit=junit,
        json=json,
    )
    _perform("run", lambda command: command.main(request))


@app.command()
def check(
    run_dirs: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Run directories.")],
    *,
    junit: Junit = None,
    json: Json = None,
) -> None:
    """Judge stored runs again, from their directories alone."""
    request = CheckRequest(run_dirs=tuple(run_dirs), junit=junit, json=json)
    _perform("check", lambda command: command.main(request))


@app.command("list")
def list_words() -> None:
    """Show every word that scenarios can use, and the scenarios."""
    _perform("words", lambda command: command.main())


@app.command()
def validate(
    scenarios: Annotated[list[str], typer.Argument(metavar="SCENARIO…", help="Files, or names as `list` shows them.")],
    *,
    settings: Settings = None,
) -> None:
    """Load scenarios as a run would, and start nothing."""
    _perform("validate", lambda command: command.main(scenarios, _all_settings(settings)))


@app.command()
def heal(
    *,
    all_runs: Annotated[
        bool, typer.Option("--all", help="Also what other machines started through the same engine.")
    ] = False,
) -> None:
    """Remove what dead runs left behind. Runs that live are left alone."""
    _perform("heal", lambda command: command.main(all_runs=all_runs))


@image.command("build")
def image_build(
    kafka: Annotated[str, typer.Option(metavar="VERSION", help="Kafka release.")] = "4.2.0",
    *,
    again: Annotated[bool, typer.Option("--again", help="Also those that are current.")] = False,
) -> None:
    """Build the images that are missing or out of date."""
    _perform("image", lambda command: command.build_images(kafka, again=again))


@image.command("list")
def image_list() -> None:
    """Show the images that the engine has."""
    _perform("image", lambda command: command.list_images())


@image.command("prune")
def image_prune(
    days: Annotated[
        float, typer.Option(metavar="DAYS", min=0, help="Spare what was made in the last so many days.")
    ] = 7,
) -> None:
    """Remove images that other recipes than today's have made and that no container needs."""
    _perform("image", lambda command: command.prune_images(days))


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


def _all_settings(flags: list[str] | None) -> tuple[str, ...]:
    """$CHAOSKAFKA_SET, separated by `;`, then the flags: the later one wins."""
    variable = os.environ.get("CHAOSKAFKA_SET", "")
    return (*(part.strip() for part in variable.split(";") if part.strip()), *(flags or ()))


def _perform(command: str, act: Callable[[ModuleType], ExitCode]) -> None:
    """Import a command's module, act, and leave with the exit code; every error becomes a message and a code."""
    output = import_module("chaoskafka.commands.output")
    try:
        code = act(import_module(f"chaoskafka.commands.{command}"))
    except KeyboardInterrupt:
        output.complain("chaoskafka: interrupted")
        code = ExitCode.INTERRUPTED
    except ChaosKafkaError as error:
        output.explain(error)
        code = error.exit_code
    except Exception as bug:  # noqa: BLE001 - the last place where a bug can become an exit code of its own
        output.explain(bug)
        code = ExitCode.INTERNAL
    raise typer.Exit(code)


def main() -> None:
    """All of the command line; `__main__` has answered the simplest questions already."""
    app(prog_name="chaoskafka")
