"""`chaoskafka compose write`: the cluster of a scenario as a Compose file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from chaoskafka.cluster.compose import compose
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.commands.output import say, write_text
from chaoskafka.errors import ExitCode, UsageError
from chaoskafka.scenario.find import find_scenario
from chaoskafka.scenario.load import load_scenario

HEAD = """\
# {what}, written by: chaoskafka compose write
#
# With the official image, or another one that takes the same variables:
#   docker compose -p {name} -f FILE up -d
#   KAFKA_IMAGE=chaoskafka/kafka:… docker compose -p {name} -f FILE up -d
# From the host: {bootstrap}
# On the network `kafka` of this project: {inside}
"""


def main(
    scenario: str | None, out: Path | None, name: str, first_port: int, settings: Sequence[str], variable: Sequence[str]
) -> ExitCode:
    """Starts nothing. Raises UsageError: a wrong scenario, a cluster that no file can hold, an `out` not writable."""
    text = written(_spec(scenario, settings, variable), name=name, first_port=first_port)
    if out is None:
        say(text)
    else:
        write_text(out, text)
    return ExitCode.PASS


def written(spec: ClusterSpec, *, name: str, first_port: int) -> str:
    """The file's text."""
    document = compose(spec, name=name, first_port=first_port)
    brokers = spec.broker_ids
    dedicated = len(spec.members) - len(brokers)
    what = f"{len(brokers)} brokers and {dedicated} controllers" if dedicated else f"{len(brokers)} combined nodes"
    head = HEAD.format(
        what=what,
        name=name,
        bootstrap=",".join(f"localhost:{first_port + broker - 1}" for broker in brokers),
        inside=",".join(f"node-{broker}:9092" for broker in brokers),
    )
    return head + yaml.safe_dump(document, sort_keys=False, width=1000)  # one line for each value


def _spec(scenario: str | None, settings: Sequence[str], variable: Sequence[str]) -> ClusterSpec:
    if scenario is not None:
        return load_scenario(find_scenario(scenario), settings=settings, variable=variable).cluster
    if settings:
        raise UsageError("--set: name the scenario whose values these are")
    return ClusterSpec()
