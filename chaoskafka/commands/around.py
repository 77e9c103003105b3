"""The commands for clusters that stand: those that `up` starts, and `watch` for one that is not ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chaoskafka.commands import WatchRequest
from chaoskafka.commands.options import Json, Junit, Out, Seed, Settings, seconds
from chaoskafka.commands.performing import perform, variable

around = typer.Typer(rich_markup_mode=None)

Cluster = Annotated[
    str | None, typer.Argument(metavar="[CLUSTER]", help="As `up` named it; may be left out where only one stands.")
]


@around.command()
def up(
    scenario: Annotated[
        str | None, typer.Argument(metavar="[SCENARIO]", help="Whose cluster and topics; without one: three nodes.")
    ] = None,
    *,
    name: Annotated[str | None, typer.Option(metavar="CLUSTER", help="What to call it.")] = None,
    settings: Settings = None,
) -> None:
    """Start a cluster that stands until `down`, to look around by hand."""
    perform("up", lambda command: command.main(scenario, name, tuple(settings or ()), variable()))


@around.command()
def status(
    cluster: Cluster = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Show a standing cluster, and what is left to undo in it."""
    perform("status", lambda command: command.main(cluster, as_json=json))


@around.command()
def inject(
    fault: Annotated[str, typer.Argument(help="As a plan writes it, e.g. 'kill: {target: leader of orders/0}'.")],
    *,
    cluster: Annotated[str | None, typer.Option(metavar="CLUSTER", help="Which, where several stand.")] = None,
    for_s: Annotated[
        float | None, typer.Option(parser=seconds, metavar="SECONDS", help="How long; without it, until Ctrl-C.")
    ] = None,
    seed: Seed = None,
) -> None:
    """Play one fault on a standing cluster, and heal it."""
    perform("inject", lambda command: command.main(fault, cluster, for_s, seed))


@around.command()
def down(cluster: Cluster = None) -> None:
    """Remove a standing cluster, whatever was broken in it."""
    perform("down", lambda command: command.main(cluster))


@around.command()
def watch(  # noqa: PLR0913 - a command's options are its parameters
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND…", help="What is done to the cluster, without a shell.")
    ],
    *,
    bootstrap: Annotated[list[str], typer.Option("--bootstrap", metavar="HOST:PORT", help="Any of its brokers.")],
    security: Annotated[
        Path | None, typer.Option("--security", metavar="FILE", help="Client settings: security.protocol=…")
    ] = None,
    bites_when: Annotated[
        str, typer.Option("--bites-when", metavar="CONDITION", help="What brokers say once it has begun.")
    ] = "fenced",
    heals_when: Annotated[
        str, typer.Option("--heals-when", metavar="CONDITION", help="What they say when it is over.")
    ] = "recovered",
    topic: Annotated[
        str | None, typer.Option("--topic", metavar="NAME", help="What to call the topic that is made there.")
    ] = None,
    rate_per_s: Annotated[
        float, typer.Option("--rate-per-s", min=1, max=100_000, metavar="NUMBER", help="Messages sent a second.")
    ] = 300,
    run_s: Annotated[
        float,
        typer.Option("--run-s", parser=seconds, metavar="SECONDS", help="Then the command is ended."),
    ] = 6 * 3600,
    out: Out = Path("runs"),
    junit: Junit = None,
    json: Json = None,
) -> None:
    """Put load round what you do to a cluster, and judge it."""
    request = WatchRequest(
        bootstrap=tuple(bootstrap),
        command=tuple(command),
        security=security,
        bites_when=bites_when,
        heals_when=heals_when,
        topic=topic,
        rate_per_s=rate_per_s,
        run_s=run_s,
        out=out,
        junit=junit,
        json=json,
    )
    perform("watch", lambda command: command.main(request))
