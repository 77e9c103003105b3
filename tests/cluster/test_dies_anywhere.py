"""Whatever fault is being played, and wherever in the ledger's protocol its process dies: the next heal takes it back.

One cluster that stands, so each case costs a command that dies and a heal. `test_interrupts.py` plays the same points
with whole runs, and two more that only the removal of a cluster passes.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import pytest

from benchmarks.leftovers import leftovers
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.ledger import Point
from chaoskafka.scenario.catalogue import Kind, members
from tests.cluster.harness import COMMAND
from tests.cluster.terminal import Terminal, standing

pytestmark = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.timeout(600)]

FAULTS = {
    "crash_loop": "crash_loop: {target: broker 2, times: 1}",
    "cut_clients": "cut_clients: {target: broker 2}",
    "isolate": "isolate: {target: broker 2}",
    "kill": "kill: {target: broker 2}",
    "partition": "partition: {target: broker 2, planes: [controllers, replication]}",
    "pause": "pause: {target: broker 2}",
    "power_off": "power_off: {target: broker 2}",
    "restart": "restart: {target: broker 2}",
    "rolling_restart": "rolling_restart: {gate: isr_full}",
    "stop": "stop: {target: broker 2}",
}
UNDONE = {
    "cut_clients": "lifted chaoskafka_0",
    "isolate": "lifted chaoskafka_0",
    "partition": "lifted chaoskafka_0",
    "pause": "resumed by SIGCONT",
    "power_off": "lifted chaoskafka_power, started again",
}  # what the heal says of a node that was hit; of all others that it was started again
OWE_NOTHING = {"command", "move_leader"}  # nothing of ours is done to a node
OF_A_FAULT = (
    Point.BEFORE_WRITE,
    Point.AFTER_WRITE,
    Point.DURING_ACT,
    Point.AFTER_ACT,
    Point.BEFORE_TICK,
    Point.AFTER_TICK,
)
OF_A_HEAL = (Point.HEAL_BEFORE_UNDO, Point.HEAL_AFTER_UNDO)


@pytest.fixture(scope="module")
def terminal(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    with standing(engine, tmp_path_factory.mktemp("state")) as terminal:
        yield terminal


def test_every_fault_is_in_the_table() -> None:
    assert set(FAULTS) | OWE_NOTHING == set(members(Kind.FAULT))
    assert {*OF_A_FAULT, *OF_A_HEAL, Point.HEAL_BEFORE_REMOVAL, Point.HEAL_BEFORE_FORGETTING} == set(Point)


@pytest.mark.parametrize("point", [*OF_A_FAULT, *OF_A_HEAL], ids=lambda point: point.name.lower())
@pytest.mark.parametrize("word", FAULTS)
def test_death_there_is_healed(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, word: str, point: Point) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(terminal.home))
    dies(terminal, Point.AFTER_ACT if point in OF_A_HEAL else point, "inject", FAULTS[word], "--for-s", "1")
    owed = terminal.status()["to_undo"]
    assert bool(owed) is (point not in {Point.BEFORE_WRITE, Point.AFTER_TICK}), owed
    if point in OF_A_HEAL:
        dies(terminal, point, "heal")
    code, output = terminal.type("heal")
    assert code == 0, output
    if point is Point.AFTER_ACT:
        # Of all nodes the one that comes first depends on which is the active controller.
        node = r"node-\d" if word == "rolling_restart" else "node-2"
        assert re.search(rf"{word} of {node}: {UNDONE.get(word, 'started again')}", output), output
    assert list(leftovers(terminal.cluster, terminal.home)) == []
    terminal.wait_whole()


def dies(terminal: Terminal, point: Point, *words: str) -> None:
    """The command ends at that point, as by the kernel."""
    named = ("--cluster", terminal.cluster) if words[0] == "inject" else ()
    code, output = terminal.type("--die-at", str(int(point)), *words, *named, program=COMMAND)
    assert code == -signal.SIGKILL, output
