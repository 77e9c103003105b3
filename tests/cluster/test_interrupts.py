"""Whatever ends a harness, and whenever: nothing is left, by itself after a signal, by `heal --all` after SIGKILL.

Real processes on real clusters, two at a time: so each heal also meets a run that lives, which it must not touch. Every
case has a state directory of its own; what one left is never another's doing. The clusters are small and their times
mean nothing. For every change the cases are played that prove most: every point of the ledger's protocol, each kind of
signal, the phases that create and remove, three instants. The whole matrix:

    pytest -m "nightly or not nightly" tests/cluster/test_interrupts.py
"""

from __future__ import annotations

import os
import pty
import random
import select
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from chaoskafka.clock import wait_until
from chaoskafka.errors import ExitCode
from chaoskafka.phases import Phase
from chaoskafka.runtimes import owner
from chaoskafka.runtimes.docker import labels
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.open import Images
from chaoskafka.runtimes.docker.sweep import sweep
from chaoskafka.runtimes.ledger import Point, ledger_path
from chaoskafka.runtimes.locks import runs_directory
from tests.cluster.conftest import objects_of
from tests.cluster.harness import LIVES_WITHIN_S, Harness

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

AT_ONCE = 2  # small clusters; nothing here judges times
INSTANTS, SEED = 30, 20260
LIFE_S = 26.0  # of an undisturbed run, two at a time on two cores; a run that is faster ends before the latest instants
RESTORING = {Phase.RESTORE, Phase.GATHER, Phase.REMOVE}
NEXT_S = 5.0  # for one more phase to begin; a run that ends instead got its second signal too late to matter

ALONE = threading.RLock()  # held over a heal: it also finds what another case's harness left, and would be the faster
DIED_IN: Counter[str] = Counter()  # the phases that the instants hit

Play = Callable[[Path, Engine], None]


def interrupted(
    where: Path, engine: Engine, *, phase: Phase, first: signal.Signals, again: signal.Signals | None
) -> None:
    """A signal in `phase`, perhaps another one while the run restores: exit 130, logs gathered, nothing left."""
    harness = Harness.start(where, "--hold", str(int(phase)))
    try:
        harness.wait_for_phase(phase)
        harness.process.send_signal(first)
        if again is not None:
            until_restoring(harness, after=phase)
            harness.process.send_signal(again)
        check_interrupted(harness, engine)
    finally:
        harness.put_down()


def until_restoring(harness: Harness, *, after: Phase) -> None:
    wait_until(
        "restoring, or the end",
        read=lambda: (
            harness.process.poll() is not None or RESTORING & set(harness.begun()[harness.begun().index(after) + 1 :])
        ),
        good=bool,
        within_s=60,
        every_s=0.02,
    )


def check_interrupted(harness: Harness, engine: Engine) -> None:
    assert harness.end() == ExitCode.INTERRUPTED, harness.output
    assert harness.left(engine) == []
    if Phase.GATHER in harness.begun():
        log = (harness.run_dir / "logs" / "node-1.log").read_text()
        # A Java that was stopped in its first instants has written nothing; a cluster that formed has.
        assert log or Phase.TOPICS not in harness.begun()


def terminal_closed(where: Path, engine: Engine) -> None:
    """A person closes the window: SIGHUP, and from then on nobody reads what the harness says."""
    ours, theirs = pty.openpty()
    harness = Harness.start(where, terminal=theirs)
    os.close(theirs)
    closing = threading.Event()
    reader = threading.Thread(target=read_until, args=(ours, closing))
    reader.start()
    try:
        harness.wait_for_phase(Phase.LOAD)
        closing.set()
        check_interrupted(harness, engine)
    finally:
        closing.set()
        reader.join()
        harness.put_down()


def read_until(terminal: int, closing: threading.Event) -> None:
    """Read what is shown, as a terminal does, then close it."""
    while not closing.is_set():
        readable, _, _ = select.select([terminal], [], [], 0.05)
        if readable:
            os.read(terminal, 4096)
    os.close(terminal)


def killed_at(where: Path, engine: Engine, *, point: Point) -> None:
    """SIGKILL exactly at a point of the ledger's protocol."""
    two = ["--set", "cluster.nodes=2", "--set", "plan[0].kill.target=all"] if point is Point.DURING_ACT else []
    harness = Harness.start(where, "--die-at", str(int(point)), *two)
    try:
        assert harness.end(within_s=LIVES_WITHIN_S) == -signal.SIGKILL, harness.output
        assert len(harness.owed()) == OWED[point]
        check_healed(harness, engine)
    finally:
        harness.put_down()


def killed_healing(where: Path, engine: Engine, *, point: Point) -> None:
    """SIGKILL of a run, and then of its heal exactly at a point of the protocol. Alone, or another heals it first."""
    with ALONE:
        harness = Harness.start(where, "--die-at", str(int(Point.AFTER_ACT)))
        try:
            assert harness.end(within_s=LIVES_WITHIN_S) == -signal.SIGKILL, harness.output
            assert harness.heal("--die-at", str(int(point))) == -signal.SIGKILL, harness.output
            check_healed(harness, engine)
        finally:
            harness.put_down()


OWED = {
    Point.BEFORE_WRITE: 0,
    Point.AFTER_WRITE: 1,
    Point.DURING_ACT: 2,  # both are noted before the first is hit
    Point.AFTER_ACT: 1,
    Point.BEFORE_TICK: 1,
    Point.AFTER_TICK: 0,
}


def killed_after(where: Path, engine: Engine, *, seconds: float) -> None:
    """SIGKILL at some instant of a run's life; one that ended before left nothing by itself."""
    harness = Harness.start(where)
    try:
        with suppress(subprocess.TimeoutExpired):
            harness.process.wait(timeout=seconds)
        harness.process.kill()
        code = harness.end()
        begun = harness.begun()
        DIED_IN[begun[-1].name.lower() if begun else "start"] += code != ExitCode.PASS
        assert code in (-signal.SIGKILL, ExitCode.PASS), harness.output
        check_healed(harness, engine)
    finally:
        harness.put_down()


def check_healed(harness: Harness, engine: Engine) -> None:
    with ALONE:
        assert harness.heal() == ExitCode.PASS, harness.output
    assert harness.left(engine) == []


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One harness and its end. `often`: played for every change, and not only in the whole matrix."""

    name: str
    play: Play
    often: bool = False

    def param(self) -> ParameterSet:
        return pytest.param(self, id=self.name, marks=[] if self.often else [pytest.mark.nightly])


# Once and twice in every phase. The second signal of a pair comes while the first one's restoring goes on.
PAIRS = [
    (signal.SIGINT, None),
    (signal.SIGTERM, None),
    (signal.SIGINT, signal.SIGINT),
    (signal.SIGTERM, signal.SIGHUP),
]
OFTEN = {"open-SIGINT", "load-SIGTERM-SIGHUP", "play-SIGINT-SIGINT", "remove-SIGINT"}


def signal_cases() -> Iterator[Case]:
    """Per phase one of the pairs once and one twice, in turn; all of them, in memory: tests/test_run_in_memory.py."""
    for place, phase in enumerate(Phase):
        for first, again in (PAIRS[place % 2], PAIRS[2 + place % 2]):
            name = f"{phase.name.lower()}-{first.name}" + (f"-{again.name}" if again else "")
            play = partial(interrupted, phase=phase, first=first, again=again)
            yield Case(name=name, play=play, often=name in OFTEN)


def instant_cases() -> Iterator[Case]:
    """Instants over a whole life, one in each of equal parts of it, so that none is left out by chance."""
    chance = random.Random(SEED)
    for part in range(INSTANTS):
        seconds = (part + chance.random()) * LIFE_S / INSTANTS
        name = f"instant-{part:02}-{seconds:.2f}s"
        yield Case(name=name, play=partial(killed_after, seconds=seconds), often=part % 10 == 5)


CASES = [
    *(
        Case(
            name=f"point-{int(point):02}-{point.name.lower()}",
            play=partial(killed_healing if point.name.startswith("HEAL") else killed_at, point=point),
            often=True,
        )
        for point in Point
    ),
    *signal_cases(),
    Case(name="terminal-closed", play=terminal_closed, often=True),
    *instant_cases(),
]


@pytest.fixture(scope="module")
def played(
    request: pytest.FixtureRequest, engine: Engine, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[None]]]:
    """Every chosen case, being played two at a time in the order of the tests."""
    chosen = [item.callspec.params["case"] for item in request.session.items if "case" in names_of(item)]
    where = tmp_path_factory.mktemp("interrupts")
    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            yield {case.name: pool.submit(case.play, where / case.name, engine) for case in chosen}
        finally:
            pool.shutdown(cancel_futures=True)
    took = f"{len(chosen)} harnesses, {AT_ONCE} at a time, in {time.monotonic() - began:.0f} s"
    request.config.get_terminal_writer().line(f"\n{took}; instants hit {dict(DIED_IN)}")


def names_of(item: pytest.Item) -> tuple[str, ...]:
    return tuple(item.callspec.params) if item.path == Path(__file__) and hasattr(item, "callspec") else ()


@pytest.mark.parametrize("case", [case.param() for case in CASES])
def test_nothing_is_left(case: Case, played: dict[str, Future[None]]) -> None:
    played[case.name].result()


def test_every_point_and_every_phase_has_a_case() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    for point in Point:
        assert any(f"-{point.name.lower()}" in name for name in names)
    for phase in Phase:
        its = [name for name in names if name.startswith(f"{phase.name.lower()}-SIG")]
        assert sorted(name.count("SIG") for name in its) == [1, 2]
    assert set(names) >= OFTEN
    assert sum(case.often for case in CASES) == len(Point) + len(OFTEN) + 1 + 3


HEAD = '{"format": 1, "run_id": "any"}\n'
ONE = '{"owed": 1, "fault": 0, "word": "kill", "node": "node-1", "undo": "start"}\n'
LEDGERS = {
    "whole": (
        HEAD + ONE + ONE.replace("1", "2"),
        ["kill of node-2: nothing is left of it", "kill of node-1: started again"],
    ),
    "torn": (HEAD + ONE + ONE[:40], ["kill of node-1: started again"]),
    "spoilt": (
        HEAD + "\0\0\n" + ONE,
        ["1 of 2 entries cannot be read; healed by labels", "kill of node-1: started again"],
    ),
    "of a later version": (HEAD.replace("1", "9") + ONE, ["not a ledger of format 1; healed by labels"]),
    "lost": (None, []),
}


@pytest.mark.parametrize("which", LEDGERS)
def test_whatever_became_of_the_ledger_the_labels_lead_to_everything(
    which: str, engine: Engine, images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead run that consists of two stopped containers, in the places of a node's host and of its Kafka."""
    content, told = LEDGERS[which]
    with ALONE:
        dead_run_healed(content, told, engine, images, tmp_path, monkeypatch)


def dead_run_healed(
    content: str | None, told: list[str], engine: Engine, images: Images, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = f"test-ledger-{os.getpid()}"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.setattr(owner, "process_started_ticks", lambda _: 1)  # as if another process had our id before
    names = []
    for part in (labels.Part.HOST, labels.Part.KAFKA):
        names.append(labels.object_name(run_id, "node-1", part.value))
        its = labels.labels(run_id, part, "node-1")
        engine.api.containers.create(images.toolbox, entrypoint=["sleep", "100"], name=names[-1], labels=its)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    if content is not None:
        ledger_path(run_id).write_text(content)
    report = sweep()
    assert sorted(report.removed[run_id]) == sorted(names)
    undone = report.undone.get(run_id, [])
    assert len(undone) == len(told)
    assert all(line.endswith(end) for line, end in zip(undone, told, strict=True))
    assert objects_of(engine, run_id) == []
    assert list(runs_directory().iterdir()) == []
