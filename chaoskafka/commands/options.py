"""What options of the command line take. In: words. Out: values; for a wrong word, what is allowed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from chaoskafka.commands import RuntimeName
from chaoskafka.fleet.shards import Shard
from chaoskafka.scenario import seeds
from chaoskafka.visible import cut

Junit = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write one result.json per line.")]
Out = Annotated[Path, typer.Option(envvar="CHAOSKAFKA_OUT", help="Where run directories go.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Replace a value of the scenario, e.g. plan[0].kill.for_s=8."),
]
JOBS_MAX = 64  # as many clusters have as many networks, of which an engine by default has address space for 31
FIRST_PORT = 29092  # beside 9092, where many have a Kafka of their own
KEEP_MAX = 100_000  # more than a disk holds
TIMEOUT_MAX_S = 7 * 24 * 3600  # a week: what is above is a slip, often milliseconds


def _whole(lowest: int, highest: int) -> Callable[[object], int]:
    """Reads a whole number, and otherwise says what was written and what is allowed, which the library does not."""

    def read(written: object) -> int:
        text = str(written)
        # int() would take 1_000, and balk at five thousand digits with a message of its own.
        if re.fullmatch(r"[-+]?[0-9]{1,20}", text) and lowest <= int(text) <= highest:
            return int(text)
        raise typer.BadParameter(f"{cut(text)!r} is not a whole number between {lowest} and {highest}")

    return read


def seconds(written: object) -> float:
    try:
        number = float(str(written))
    except ValueError:
        number = math.nan
    if 1 <= number <= TIMEOUT_MAX_S:  # false of nan
        return number
    raise typer.BadParameter(f"{cut(str(written))!r} is not a number of seconds between 1 and {TIMEOUT_MAX_S}")


Seed = Annotated[
    int | None,
    typer.Option(
        parser=_whole(0, seeds.SEED_MAX), metavar="NUMBER", envvar="CHAOSKAFKA_SEED", help="Of every choice in the run."
    ),
]
Repeat = Annotated[
    int, typer.Option(parser=_whole(1, 1000), metavar="NUMBER", help="Play each so often, with seed, seed+1, …")
]
TimeoutS = Annotated[
    float | None,
    typer.Option(parser=seconds, metavar="SECONDS", envvar="CHAOSKAFKA_TIMEOUT_S", help="Bounds each whole run."),
]
Runtime = Annotated[
    RuntimeName,
    typer.Option(
        "--runtime",
        envvar="CHAOSKAFKA_RUNTIME",
        help="What runs the cluster; auto: docker, or process without an engine; process-plain: without namespaces; "
        "fake: a rehearsal, without Kafka.",
    ),
]


def _jobs(written: object) -> int:
    """0: as many as the machine carries."""
    return 0 if str(written) == "auto" else _whole(1, JOBS_MAX)(written)


def _shard(written: object) -> Shard:
    try:
        return Shard.parse(cut(str(written)))
    except ValueError as wrong:
        raise typer.BadParameter(str(wrong)) from None


Jobs = Annotated[
    int,
    typer.Option(
        parser=_jobs,
        metavar="NUMBER|auto",
        envvar="CHAOSKAFKA_JOBS",
        help="Runs at once, if memory and cores carry them; auto: as many as they carry.",
    ),
]
Share = Annotated[
    Shard | None,
    typer.Option("--shard", parser=_shard, metavar="I/N", help="Play share I of N, of equal length."),
]
Bundle = Annotated[
    Path | None,
    typer.Option("--bundle", metavar="FILE", help="Pack what did not pass into a .tar.gz below 20 MB."),
]
KeepRuns = Annotated[
    int | None,
    typer.Option(
        "--keep-runs",
        parser=_whole(1, KEEP_MAX),
        metavar="NUMBER",
        help="Of each scenario, keep so many run directories: the newest.",
    ),
]
FirstPort = Annotated[
    int,
    typer.Option(
        "--first-port", parser=_whole(1024, 65535), metavar="PORT", help="Of broker 1 on the host; others follow."
    ),
]
Baseline = Annotated[
    Path | None,
    typer.Option("--baseline", metavar="FILE", help="Failover times to compare with, from `stats --save`."),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if", metavar="RULE", help="'redirect > 1.3x' or 'kill.elect outside bound'; several hold all."
    ),
]
RerunFailed = Annotated[
    Path | None,
    typer.Option("--rerun-failed", metavar="FILE", help="Play again what did not pass, by an earlier results.json."),
]
