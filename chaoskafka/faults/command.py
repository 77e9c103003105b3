"""Command: somebody else breaks something: a runbook, a rolling upgrade, another tool. An action.

In go a command, and by what brokers say when it bit and when it is over. Out comes a proof in their words: what they
did not say before and said then. What the command itself claims is kept, and is no proof.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, ClassVar

from chaoskafka.clock import NS_PER_S, Clock, wait_until
from chaoskafka.cluster import holding, ready, sights
from chaoskafka.cluster.abilities import Node
from chaoskafka.cluster.conditions import Condition, Word
from chaoskafka.cluster.sights import BrokerView
from chaoskafka.errors import FaultFailed, WaitTimeout
from chaoskafka.faults import Injected, Proof, Stage
from chaoskafka.faults.playing import check_seconds, window

RECOVERED = Condition(word=Word.RECOVERED)
BITES = (Word.FENCED, Word.LEADER_CHANGED, Word.ISR_IS)  # the others hold when nothing is broken
LEAVE_S = 20.0  # from SIGTERM to SIGKILL, when a stop or an error ends the command
OUTPUT_KEPT_BYTES = 4096  # the end of what it wrote
WORDS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Have a command of yours break something, and see by what brokers say that it did.

    Entering blocks until `bites_when` was seen to hold and the command has ended with 0, leaving until `heals_when`
    holds.
    Raises FaultFailed when the condition held before, when the command cannot be started, ends with another code or
    too late, and when a condition does not come.
    """

    run: tuple[str, ...]  # the command and its arguments, without a shell
    bites_when: Condition  # what brokers say once it bit, and do not say before: fenced, leader_changed, isr_is
    heals_when: Condition = RECOVERED  # what they say when it is over
    settle_s: float = 60.0  # for bites_when, after the command has ended, unless that says within_s
    run_s: float = 600.0  # for the command, from its start to its end
    heal_s: float = 120.0  # for heals_when once the command has ended, unless that says within_s

    needs: ClassVar[tuple[type[Node], ...]] = ()
    acts_outside: ClassVar[bool] = True  # on whatever the command acts: a rehearsal would start it for real

    def __post_init__(self) -> None:
        check_seconds(self, "settle_s", "run_s", "heal_s")
        if not 1 <= len(self.run) <= WORDS_MAX or not self.run[0] or any("\0" in word for word in self.run):
            raise ValueError(f"run: expected a command and its arguments, at most {WORDS_MAX} words")
        if self.bites_when.word not in BITES:
            raise ValueError(f"bites_when: {self.bites_when} says that nothing is broken; allowed: {', '.join(BITES)}")
        if self.bites_when.word is Word.LEADER_CHANGED and self.bites_when.partition is None:
            raise ValueError(
                "bites_when: leader_changed takes a partition here: nobody knows whom the command will hit"
            )

    @contextmanager
    def inject(self, stage: Stage) -> Iterator[Injected]:
        before = stage.look()
        scene = holding.Scene.of(stage.spec, before, None)
        with tempfile.TemporaryFile() as output:
            ended: list[_Child] = []
            with window(
                strike=lambda: self._strike(stage, scene, before, output, ended),
                heal=lambda: self._healed(stage, scene, ended[0]),
                take_back=list,  # whatever it did is for those to mend who wrote it
            ) as hit:
                yield hit

    def _strike(
        self, stage: Stage, scene: holding.Scene, before: Sequence[BrokerView], output: IO[bytes], ended: list[_Child]
    ) -> Injected:
        """`ended` takes up the process once it has come to a good end."""
        seen: list[BrokerView] = []

        def look() -> Sequence[BrokerView]:
            seen[:] = stage.look()
            return seen

        bites = holding.reader(self.bites_when, look, scene)
        if not bites():
            raise FaultFailed(f"{self.bites_when} holds before the command has begun: nothing could be seen to bite")
        stage.ready()
        with _started(self.run, output, stage.clock) as child:
            missing = self._await_bite(bites, child, stage.clock)
            now = list(seen)
            child.wait(self.run_s)
            if missing:
                raise FaultFailed(f"{child} was not seen to bite: {'; '.join(missing[: ready.MISSING_SHOWN])}")
        ended.append(child)
        return Injected(
            targets=_hit(before, now),
            asked_ns=child.started_ns,
            acted_ns=max(view.answered_ns for view in sights.reachable(now)),
            proof={"holds": str(self.bites_when), "seen_by": [view.broker for view in sights.reachable(now)]},
        )

    def _await_bite(self, bites: Callable[[], list[str]], child: _Child, clock: Clock) -> list[str]:
        """Until the condition holds, or will not any more; returns what is missing then. Blocks.

        What the command began is not cut short because brokers have not noticed it yet: it may take its time before.
        """
        settle_s = self.bites_when.within_s or self.settle_s

        def read() -> tuple[list[str], bool]:
            missing = bites()
            late = child.ended_for_s() >= settle_s or child.ran_s() >= self.run_s
            return missing, not missing or child.failed or late

        try:
            missing, _ = wait_until(
                str(self.bites_when),
                read=read,
                good=lambda found: found[1],
                within_s=self.run_s + settle_s,
                every_s=ready.EVERY_S,
                clock=clock,
            )
        except WaitTimeout as late:
            return [str(late)]
        return missing

    def _healed(self, stage: Stage, scene: holding.Scene, child: _Child) -> Proof:
        heals = holding.reader(self.heals_when, stage.look, scene)
        try:
            wait_until(
                str(self.heals_when),
                read=heals,
                good=lambda missing: not missing,
                within_s=self.heals_when.within_s or self.heal_s,
                every_s=ready.EVERY_S,
                describe=lambda missing: "; ".join(missing[: ready.MISSING_SHOWN]),
            )
        except WaitTimeout as unseen:
            raise FaultFailed(f"{child} was not seen to heal: {unseen}") from unseen
        return {"holds": str(self.heals_when), "exit_code": child.code, "output": child.told}


@dataclass(slots=True, kw_only=True)
class _Child:
    """The command's process, in a session of its own: what it starts ends with it, and Ctrl-C does not reach it."""

    process: subprocess.Popen[bytes]
    output: IO[bytes]
    clock: Clock
    started_ns: int
    ended_ns: int | None = None

    def __str__(self) -> str:
        return f"command {self.process.args!r}"[:200]

    @property
    def code(self) -> int | None:
        return self.process.poll()

    def ended_for_s(self) -> float:
        """How long ago it was first seen to have ended; 0 while it runs."""
        if self.code is None:
            return 0.0
        self.ended_ns = self.ended_ns or self.clock.now_ns()
        return (self.clock.now_ns() - self.ended_ns) / NS_PER_S

    @property
    def failed(self) -> bool:
        return bool(self.code)

    @property
    def told(self) -> str:
        """The end of what it wrote."""
        size = self.output.seek(0, os.SEEK_END)
        self.output.seek(max(0, size - OUTPUT_KEPT_BYTES))
        return self.output.read().decode(errors="replace").strip()

    def ran_s(self) -> float:
        """For how long it has run; 0 once it has ended."""
        return 0.0 if self.code is not None else (self.clock.now_ns() - self.started_ns) / NS_PER_S

    def wait(self, run_s: float) -> None:
        """Until it has ended well. Blocks. Raises FaultFailed, and what the clock raises."""
        left_s = max(0.0, run_s - self.ran_s())
        try:
            wait_until(
                f"{self} to end",
                read=lambda: self.code,
                good=lambda code: code is not None,
                within_s=left_s,
                clock=self.clock,
            )
        except WaitTimeout as late:
            raise FaultFailed(f"{self} still ran after {run_s:.1f} s; it is ended") from late
        if self.failed:
            raise FaultFailed(f"{self} ended with {self.code}: {self.told}")

    def end(self) -> None:
        """Nothing of it goes on, unless it came to a good end: what it left running then, it meant to.

        Blocks for at most LEAVE_S and the kernel's time.
        """
        if self.code == 0:
            return
        with suppress(ProcessLookupError, PermissionError):  # gone; or of another user, by sudo, and his to end
            os.killpg(self.process.pid, signal.SIGTERM)
            with suppress(WaitTimeout):
                wait_until(
                    "all that it started to end", read=self._lives, good=lambda lives: not lives, within_s=LEAVE_S
                )
            os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # one that we may not signal
            self.process.wait(LEAVE_S)

    def _lives(self) -> bool:
        """Whether anything of its process group does."""
        self.process.poll()  # or it would be there as a zombie
        try:
            os.killpg(self.process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True


@contextmanager
def _started(words: Sequence[str], output: IO[bytes], clock: Clock) -> Iterator[_Child]:
    """Raises FaultFailed when it cannot be started."""
    started_ns = clock.now_ns()
    try:
        process = subprocess.Popen(
            list(words), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as refused:
        raise FaultFailed(f"command {words[0]!r} cannot be started: {refused.strerror}") from refused
    child = _Child(process=process, output=output, clock=clock, started_ns=started_ns)
    try:
        yield child
    finally:
        child.end()


def _hit(before: Sequence[BrokerView], now: Sequence[BrokerView]) -> tuple[int, ...]:
    """Whom brokers showed to be hit: fenced now and not before, or no leader any more of what it led."""
    fenced = {broker for view in sights.reachable(now) for broker, out in view.fenced.items() if out}
    fenced -= {broker for view in sights.reachable(before) for broker, out in view.fenced.items() if out}
    led, leads = sights.leadership(before), sights.leadership(now)
    deposed = {seen.leader for at, seen in led.items() if at in leads and leads[at].leader_epoch > seen.leader_epoch}
    return tuple(sorted((fenced | deposed) - {sights.NO_LEADER}))
