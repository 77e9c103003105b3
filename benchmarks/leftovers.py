"""What is left after a hundred random faults whose command was killed (SIGKILL) at a random instant, and a heal.

One cluster that stands. Each time: a random fault on a random node, by `chaoskafka inject`; the process is killed after
a random time, before, while or after the fault bites; then `chaoskafka heal`. Left is a node that does not run or is
frozen, a rule of ours in a node's network, an entry of the ledger, a file of the killed command's.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import Goal, Series, report, say
from chaoskafka import by_hand
from chaoskafka.cluster.abilities import CanPartition
from chaoskafka.runtimes.docker import standing

TIMES = 100
SEED = 20261130
LIVES_S = 6.0  # a command starts in about half a second, and its fault bites within one or two
COMMAND_S = 300.0
CLUSTER = f"leftovers-{os.getpid()}"
WORDS = (
    "kill: {target: broker %d}",
    "pause: {target: broker %d}",
    "isolate: {target: broker %d}",
    "cut_clients: {target: broker %d}",
    "partition: {target: broker %d, planes: [controllers]}",
    "power_off: {target: broker %d}",
    "stop: {target: broker %d}",
)


def main() -> int:
    """Returns the exit code. Takes about twenty minutes on two cores."""
    rng = random.Random(SEED)  # noqa: S311 - chance, not secrecy
    with tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        run("up", "--name", CLUSTER, "--set", "cluster.timeouts=fast")
        try:
            found, owed = [], []
            for number in range(TIMES):
                fault = rng.choice(WORDS) % rng.choice((1, 2, 3))
                owed.append(float(killed(fault, rng.uniform(0, LIVES_S))))
                run("heal")
                left = list(leftovers(CLUSTER, Path(state)))
                found.append(float(len(left)))
                say(f"  {number + 1} of {TIMES}: {fault}: owed {owed[-1]:.0f}; left: {', '.join(left) or 'nothing'}")
        finally:
            run("down", CLUSTER)
    biting = sum(each > 0 for each in owed)
    series = [
        Series(label="left after a heal", unit="things", samples=found),
        Series(label="owed when killed", unit="deeds", samples=owed),
    ]
    wanted = [
        Goal(what="left after all of them", value=sum(found), at_most=0),
        Goal(what="killed while a deed was owed", value=float(biting), at_least=TIMES / 4),
    ]
    return report("leftovers", series, wanted)


def killed(fault: str, after_s: float) -> int:
    """Returns how many deeds were owed at that time."""
    process = subprocess.Popen(
        command("inject", fault, "--cluster", CLUSTER, "--for-s", "600"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(timeout=after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return len(by_hand.status(by_hand.find(CLUSTER)).owed)


def leftovers(name: str, state: Path) -> Iterator[str]:
    """All of the cluster `name`, and in the state directory, that must not be there."""
    cluster = by_hand.find(name)
    status = by_hand.status(cluster)
    for member, node in status.states.items():
        if not node.running or node.frozen:
            yield f"{member}: {node}"
    for owed in status.owed:
        yield f"the ledger owes {owed}"
    with standing.attach(cluster.run_id, cluster.spec) as attached:
        for each in attached.nodes.values():
            if isinstance(each, CanPartition) and (rules := each.rules()):
                yield f"{each.spec.name}: {rules}"
    for path in (state / "chaoskafka" / "runs").iterdir():
        yield path.name


def run(*words: str) -> None:
    subprocess.run(command(*words), check=True, timeout=COMMAND_S, stdout=subprocess.DEVNULL)


def command(*words: str) -> Sequence[str]:
    return [sys.executable, "-m", "chaoskafka", *words]


if __name__ == "__main__":
    sys.exit(main())
