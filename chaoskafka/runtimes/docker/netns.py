"""A node's network namespace, by way of its host container: rules of ours, and connections that are to end.

In: a batch of nft commands (`cluster/netrules.py`), addresses. Out: what nft and ss did. Host containers alone may
change their network; Kafka's container shares it without that right, so nothing is ever done from inside of Kafka.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from docker.models.containers import Container

from chaoskafka.cluster.abilities import Deed
from chaoskafka.cluster.netrules import lift_batch, ours, reset_command, tables
from chaoskafka.errors import CommandFailed
from chaoskafka.runtimes.docker.containers import execute
from chaoskafka.runtimes.docker.engine import Engine

# An exec costs up to some 0.3 s before and after the command; nft itself 10 ms. So the deed is timed where it is done.
_RUN = """
import json, subprocess, sys, time
before = time.monotonic_ns()
done = subprocess.run(["nft", "-f", "-"], input=sys.argv[1], text=True, capture_output=True)
print(json.dumps([before, time.monotonic_ns(), done.returncode, done.stdout + done.stderr]))
"""


def run_rules(engine: Engine, host: Container, batch: str, name: str) -> Deed:
    """Run a batch on node `name`, all or nothing. Blocks for an exec. Raises CommandFailed, EnvironmentFailure."""
    asked_ns = time.monotonic_ns()
    began_ns, ended_ns, code, output = json.loads(_execute(engine, host, "python3", "-c", _RUN, batch))
    done_ns = time.monotonic_ns()
    if code != 0:
        raise CommandFailed(f"nft -f - in the host container of {name}", code, output)
    if not asked_ns <= began_ns <= ended_ns <= done_ns:  # another kernel's clock
        began_ns, ended_ns = asked_ns, done_ns
    return Deed(what=f"rules of {name}", means="nft in its host container", asked_ns=began_ns, acted_ns=ended_ns)


def rules(engine: Engine, host: Container) -> str:
    """Every table of ours as nft lists it, with what its rules counted. Raises CommandFailed, EnvironmentFailure."""
    return ours(_execute(engine, host, "nft", "list", "ruleset", "inet"))


def lift_all(engine: Engine, host: Container) -> tuple[str, ...]:
    """Delete all tables of ours, and nothing else; returns their names. Raises CommandFailed, EnvironmentFailure."""
    found = tables(rules(engine, host))
    if found:
        run_rules(engine, host, "".join(map(lift_batch, found)), host.name or "")
    return found


def reset_connections(engine: Engine, host: Container, peers: Sequence[str]) -> int:
    """End TCP connections to `peers` (none: to everybody but itself); returns how many. Blocks for an exec.

    Raises CommandFailed and EnvironmentFailure.
    """
    return len(_execute(engine, host, *reset_command(peers)).splitlines())


def _execute(engine: Engine, host: Container, *argv: str) -> str:
    code, output = execute(engine, host, argv)
    if code != 0:
        raise CommandFailed(f"{argv[0]} in the container {host.name}", code, output)
    return output
