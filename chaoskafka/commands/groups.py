"""The commands that have commands below them: `chaoskafka image …` and `chaoskafka compose …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chaoskafka.cluster.versions import DEFAULT
from chaoskafka.commands.options import FIRST_PORT, FirstPort, Settings
from chaoskafka.commands.performing import perform, variable

image = typer.Typer(help="The images that clusters start from.", no_args_is_help=True, rich_markup_mode=None)
compose = typer.Typer(help="Clusters as Compose files.", no_args_is_help=True, rich_markup_mode=None)


@image.command("build")
def image_build(
    kafka: Annotated[str, typer.Option(metavar="VERSION", help="Kafka release, or a line of them.")] = DEFAULT,
    *,
    again: Annotated[bool, typer.Option("--again", help="Also those that are current.")] = False,
) -> None:
    """Build the images that are missing or out of date."""
    perform("image", lambda command: command.build_images(kafka, again=again))


@image.command("list")
def image_list() -> None:
    """Show the images that the engine has."""
    perform("image", lambda command: command.list_images())


@image.command("prune")
def image_prune(
    days: Annotated[
        float, typer.Option(metavar="DAYS", min=0, help="Spare what was made in the last so many days.")
    ] = 7,
) -> None:
    """Remove images that other recipes than today's have made and that no container needs."""
    perform("image", lambda command: command.prune_images(days))


@compose.command("write")
def compose_write(
    scenario: Annotated[
        str | None, typer.Argument(metavar="[SCENARIO]", help="Whose cluster; without one: three nodes.")
    ] = None,
    *,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Instead of stdout.")] = None,
    name: Annotated[str, typer.Option(metavar="PROJECT", help="What to call cluster and project.")] = "chaoskafka",
    first_port: FirstPort = FIRST_PORT,
    settings: Settings = None,
) -> None:
    """Write the cluster of a scenario as a Compose file."""
    given = (scenario, out, name, first_port, tuple(settings or ()), variable() if scenario else ())
    perform("compose", lambda command: command.main(*given))
