"""Session: a cluster's life with what is done to it, each part a context manager that writes to the history.

In: a run directory, a running cluster, a clock that a stop ends. Out: events, observations and tapes in that directory.
The engine under `run`.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaoskafka.clock import NS_PER_S, Clock, wait_until
from chaoskafka.cluster.abilities import CanHostClients, ClientProcess, Cluster
from chaoskafka.cluster.moves import Moves
from chaoskafka.cluster.security import User
from chaoskafka.cluster.views import Views
from chaoskafka.errors import EnvironmentFailure, FaultFailed, Interrupted, NoTarget, RunTimeout, told
from chaoskafka.faults import Injected
from chaoskafka.history.events import EventLog
from chaoskafka.history.header import TopicFacts
from chaoskafka.probes.observer import Arguments, stopping_told
from chaoskafka.progress import Progress
from chaoskafka.runtimes.ledger import Ledger, Unwritten
from chaoskafka.scenario.plan import PlannedStep
from chaoskafka.stage import TargetStage
from chaoskafka.traffic import HURRY_S, Traffic
from chaoskafka.workloads.worker.arguments import WorkerArguments

OBSERVER_STARTS_S = 20.0  # a Python process in a new container: under 2 s, on a starved machine more
OBSERVER_ENDS_S = 10.0


@dataclass(slots=True, kw_only=True)
class Session:
    """One run's dealings with one cluster."""

    run_dir: Path
    events: EventLog
    clock: Clock
    progress: Progress
    cluster: Cluster
    views: Views
    ledger: Ledger = field(default_factory=Unwritten)
    moves: Moves | None = None  # None: leadership cannot be moved
    acted_ns: int | None = None  # of the latest fault
    healing_ns: int | None = None  # when the latest healing began: recovery is counted from there
    watching: ClientProcess | None = None
    unstarted: tuple[str, ...] = ()  # nodes that are as dead after restoring as before it

    def status(self, traffic: Traffic | None) -> str:
        """One line for a person: load, who leads, time since the latest fault."""
        parts = [traffic.summary()] if traffic else []
        leaders = (self.watching.latest() or {}).get("leaders") if self.watching else None
        if isinstance(leaders, dict):
            parts.append("leaders " + " ".join(str(leader) for _, leader in sorted(leaders.items())))
        if self.acted_ns is not None:
            parts.append(f"{(self.clock.now_ns() - self.acted_ns) / NS_PER_S:.1f} s since the fault")
        return ", ".join(parts)

    def ended(self, traffic: Traffic) -> list[str]:
        """Workers, and the observer, that have ended although nobody asked them to. Blocks for a question to each."""
        gone = traffic.ended()
        status = self.watching.exited() if self.watching else None
        return gone if status is None else [*gone, f"the observer ended: {status}"]

    @contextmanager
    def fault(self, step: PlannedStep, ready: Callable[[], None] = lambda: None) -> Iterator[Injected]:
        """Play one fault, leaving its events. Raises what the fault raises, after writing it down.

        `ready` is called right before the deed, by which several that strike at once wait for each other.
        """
        rng = random.Random(step.seed)  # noqa: S311 - chance, not secrecy
        stage = TargetStage(
            self.cluster,
            self.views,
            rng,
            ledger=self.ledger,
            fault=step.index,
            word=step.word,
            spared=(self.watching.address,) if self.watching and self.watching.address else (),
            clock=self.clock,
            moves=self.moves,
            stopping=lambda: stopping_told(self.watching.latest() if self.watching else None),
            ready=ready,
        )
        facts: dict[str, Any] = {"fault": step.index, "word": step.word}
        self.events.write("fault", state="beginning", **facts)
        hit: Injected | None = None
        try:
            with step.fault.inject(stage) as hit:
                bitten = {"targets": list(hit.targets), "acted_ns": hit.acted_ns, "asked_ns": hit.asked_ns}
                self.events.write("fault", state="active", **facts, **bitten, evidence=stage.evidence, proof=hit.proof)
                self.acted_ns = hit.acted_ns
                self.progress.note(f"{step.word}: hit node {', '.join(map(str, hit.targets)) or 'nobody'}")
                try:
                    yield hit
                finally:
                    self.healing_ns = self.events.write("fault", state="healing", **facts)
        except BaseException as failed:  # in tests a Ctrl-C, too, ends windows that were seen to heal
            skipped = step.may_skip and hit is None and isinstance(failed, NoTarget)
            if skipped:
                self.progress.note(f"{step.word}: skipped: {failed}")
            elif hit is None or not self._healed(facts, hit):
                self.healing_ns = None  # recovery is counted from whatever restores it later
            error = f"{type(failed).__name__}: {told(failed)}"
            self.events.write("fault", state="skipped" if skipped else "failed", **facts, error=error)
            raise
        self._healed(facts, hit)

    def restore(self) -> None:
        """Undo every fault. Blocks.

        Raises what the runtime raises, and FaultFailed when it reports success and a node is as dead or frozen as
        before: then what follows says nothing about Kafka.
        """
        nodes = list(self.cluster.nodes.values())
        states = {node.spec.name: node.state() for node in nodes}
        dead = {name: state.started_at for name, state in states.items() if not state.running or state.frozen}
        try:
            self.cluster.restore()
        finally:
            seen = {node.spec.name: node.state() for node in nodes if node.spec.name in dead}
            # A new process that ended again is another matter: that is Kafka's own doing.
            self.unstarted = tuple(
                name
                for name, state in seen.items()
                if (not state.running or state.frozen) and state.started_at == dead[name]
            )
        if self.unstarted:
            raise FaultFailed(f"restoring reported success, and nothing was started on {', '.join(self.unstarted)}")
        self.ledger.tick_all()

    def _healed(self, facts: Mapping[str, Any], hit: Injected) -> bool:
        """Write down that a fault was seen to heal, which it may be although its window was cut short."""
        if hit.heal_proof is None:
            return False
        self.ledger.tick(facts["fault"])
        self.events.write("fault", state="healed", **facts, proof=hit.heal_proof)
        self.progress.note(f"{facts['word']}: healed")
        return True

    @contextmanager
    def observer(self, topics: Sequence[TopicFacts]) -> Iterator[None]:
        """Watch the cluster from a place of its own; its observations are in the run directory on leaving.

        Entering returns once it knows a leader of every partition: a fault before that would have no leader to take
        from. Raises EnvironmentFailure when it does not start.
        """
        watch = Arguments(
            brokers=self.cluster.client_addresses(),
            controllers=self.cluster.controller_addresses(),
            topics=tuple(topic.name for topic in topics),
            security=self.cluster.security(User.OBSERVER),
        )
        process = self.watching = _clients(self.cluster).launch("observer", watch.argv(), watch.environment())
        try:
            wait_until(
                "the observer to know every leader",
                read=lambda: _knows_leaders(process.latest(), topics) or process.exited() is not None,
                good=bool,
                within_s=OBSERVER_STARTS_S,
                clock=self.clock,
            )
            if process.exited() is not None:
                raise EnvironmentFailure(
                    f"the observer ended at once: {process.exited()}; see logs/observer/stderr.log"
                )
            yield
        finally:
            self._end_observer(process)

    @contextmanager
    def traffic(self, workers: Sequence[WorkerArguments]) -> Iterator[Traffic]:
        """Run workers; on leaving all have ended and their tapes are in the run directory."""
        traffic = Traffic(workers, self.events)
        try:
            traffic.start(_clients(self.cluster))
            yield traffic
        finally:
            try:
                traffic.stop(within_s=HURRY_S if self._is_stopped() else None)
            finally:
                traffic.collect(self.run_dir / "ops" / "tapes")

    def _is_stopped(self) -> bool:
        """Whether a stop was asked for: then nobody will judge what the clients did."""
        with suppress(RunTimeout):
            try:
                self.clock.pause(0)
            except Interrupted:
                return True
        return False

    def _end_observer(self, process: ClientProcess) -> None:
        into = self.run_dir / "logs" / "observer"
        process.terminate()
        try:
            process.wait(within_s=OBSERVER_ENDS_S)
        finally:
            into.mkdir(parents=True, exist_ok=True)
            process.collect(into)
            seen = into / "observations.jsonl"
            if seen.exists():
                shutil.move(seen, self.run_dir / "observations.jsonl")


def _clients(cluster: Cluster) -> CanHostClients:
    if not isinstance(cluster, CanHostClients):
        raise EnvironmentFailure("this runtime has no place for clients")
    return cluster


def _knows_leaders(told: Mapping[str, Any] | None, topics: Sequence[TopicFacts]) -> bool:
    led = (told or {}).get("leaders", {})
    return all(f"{topic.name}/{number}" in led for topic in topics for number in range(topic.partitions))
