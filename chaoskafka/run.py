"""Plays one scenario in numbered phases, from an empty engine to a judged run directory and an empty engine.

In: a scenario and options. Out: a run directory, and the exit code. Nothing that was created outlives the call, but for
`keep`; whatever was broken on purpose is restored first.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from chaoskafka import machine, nemesis, under_load
from chaoskafka.audit.whole import AUDIT_S, audit
from chaoskafka.cluster import forming
from chaoskafka.cluster.abilities import Cluster
from chaoskafka.cluster.admin import TOPICS_S, make_offsets_topic, make_topics
from chaoskafka.cluster.controllers import controller_settings
from chaoskafka.cluster.forming import FORM_S
from chaoskafka.cluster.moves import Moves
from chaoskafka.cluster.security import Protection, User
from chaoskafka.cluster.users import let_in
from chaoskafka.cluster.views import Views
from chaoskafka.ending import EXIT_OF, Ending
from chaoskafka.errors import ChaosKafkaError, ExitCode
from chaoskafka.hands import hands
from chaoskafka.history.events import EventLog
from chaoskafka.history.identity import run_number
from chaoskafka.history.seal import seal
from chaoskafka.judge import judge
from chaoskafka.phases import Phase, Phases, RunClock, stop_on_signals
from chaoskafka.progress import Progress
from chaoskafka.runtime import DOCKER, Runtime
from chaoskafka.runtimes.ledger import RunLedger
from chaoskafka.scenario.model import Scenario
from chaoskafka.scenario.needs import refuse_lacking
from chaoskafka.scenario.plan import Planned, plan
from chaoskafka.session import Session
from chaoskafka.setting import (
    RunPlace,
    facts_of_topics,
    first_header,
    make_run_dir,
    recovery_limit_s,
    rights_of,
    workers_of,
)
from chaoskafka.traffic import FLOW_S, Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run. `out`: the directory that holds all runs. `keep`: leave the cluster, for `heal` to remove."""

    seed: int
    out: Path
    keep: bool
    timeout_s: float | None
    progress: Progress
    replay: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """Where the history of a run is, and how the run ended."""

    run_dir: Path
    exit_code: ExitCode


def run_scenario(scenario: Scenario, *, options: RunOptions, runtime: Runtime = DOCKER) -> RunOutcome:
    """Play, judge and report. Blocks for minutes. Errors become exit codes, and lines in the run directory.

    Raises ScenarioError when the runtime lacks an ability that the scenario needs, and EnvironmentFailure when there is
    no room for a run directory.
    """
    refuse_lacking(scenario, runtime.name, runtime.abilities)
    where = make_run_dir(options.out, scenario.name, options.seed)
    with stop_on_signals(options.progress) as stop, EventLog(where.run_dir / "events.jsonl") as events:
        run = _Run(scenario, options, where, runtime, events, stop)
        return RunOutcome(run_dir=where.run_dir, exit_code=run.to_the_end())


class _Run:
    """One run on its way through the phases."""

    def __init__(
        self,
        scenario: Scenario,
        options: RunOptions,
        where: RunPlace,
        runtime: Runtime,
        events: EventLog,
        stop: threading.Event,
    ) -> None:
        self.scenario, self.options, self.runtime = scenario, options, runtime
        self.events, self.stop = events, stop
        self.run_id, self.run_dir = where.run_id, where.run_dir
        self.progress = options.progress
        self.phases = Phases(events, options.progress)
        self.ending = Ending(where.run_dir, events, self.phases, options.progress)
        self.clock = RunClock(stop, timeout_s=options.timeout_s, on_tick=self.tick)
        self.traffic: Traffic | None = None
        self.session: Session | None = None
        self.ledger = RunLedger(where.run_id)
        self.audited = False
        self.telling = threading.Lock()

    def tick(self) -> None:
        """Called while waiting: show what is going on. What cannot be shown is no reason to end a run."""
        if not self.telling.acquire(blocking=False):
            return  # faults that strike together wait in threads of their own; one that tells is enough
        try:
            with suppress(ChaosKafkaError):
                if self.session is not None and (text := self.session.status(self.traffic)):
                    self.progress.status(text)
        finally:
            self.telling.release()

    def to_the_end(self) -> ExitCode:
        with self.ending.counted():
            self._live()
        # What went wrong after the audit takes nothing back of what it found; without one there is nothing to judge.
        if self.audited and not self.stop.is_set() and ExitCode.INTERNAL not in self.ending.codes:
            with self.ending.counted():
                self._judge()
        if self.stop.is_set():  # perhaps in a phase that does not wait, where nothing was interrupted
            self.ending.codes.add(ExitCode.INTERRUPTED)
        return self.ending.code

    def _live(self) -> None:
        """Phases 1 to 13."""
        with self.phases.phase(Phase.PLAN):
            steps = plan(self.scenario, self.options.seed)
            self.header = first_header(
                self.scenario,
                self.options.seed,
                steps,
                run_id=self.run_id,
                replay=self.options.replay,
                runtime=self.runtime.name,
            )
            self.header = replace(self.header, clients=self.runtime.clients)
            self.header.save(self.run_dir)
            self.progress.note(f"seed {self.options.seed}; replay: {self.options.replay}")
        with self.phases.phase(Phase.PREFLIGHT):
            machine.check_run_directory(self.run_dir)
            for doubt in machine.doubts():
                self.events.write("note", text=doubt)
                self.progress.note(doubt)
            opens = self.runtime.prepare(self.scenario.cluster, self.progress.note, self.clock)
        with ExitStack() as life:
            with self.phases.phase(Phase.OPEN):
                self.clock.pause(0)  # what preparing did not notice
                opened = opens(run_id=self.run_id, clock=self.clock, keep=self.options.keep)
                cluster = life.enter_context(opened)
            life.callback(self._remove, life.pop_all())
            life.callback(self._leave, cluster)
            with self.ending.counted():
                self._ask(cluster, steps)

    def _remove(self, life: ExitStack) -> None:
        # `life` is left even when the phase cannot begin, for want of room for its event. What is owed to a cluster
        # that could not be removed, or is kept, stays on disk for a heal.
        gone = False
        with ExitStack() as last:
            last.callback(lambda: self.ledger.close(removed=gone))
            last.enter_context(self.ending.counted())
            last.enter_context(life)
            last.enter_context(self.phases.phase(Phase.REMOVE))
            life.close()
            gone = not self.options.keep
            if self.options.keep:
                self.progress.note(f"kept the cluster of run {self.run_id}; remove it with: chaoskafka heal")
        if self.phases.failed is Phase.REMOVE:
            self.progress.note("what is left of the cluster is removed by: chaoskafka heal")

    def _ask(self, cluster: Cluster, steps: tuple[Planned, ...]) -> None:
        """Phases 4 to 11."""
        views = self.runtime.views(cluster.host_addresses(), cluster.security(User.OBSERVER))
        with self.phases.phase(Phase.FORM):
            let_in(cluster, within_s=FORM_S, clock=self.clock)
            forming.wait_formed(cluster, views, within_s=FORM_S, clock=self.clock)
        with self.phases.phase(Phase.TOPICS), forming.ends_told(cluster):
            self._make_topics(cluster, views)
        session = Session(
            run_dir=self.run_dir,
            events=self.events,
            clock=self.clock,
            progress=self.progress,
            cluster=cluster,
            views=views,
            ledger=self.ledger,
            moves=Moves(self.runtime.views(cluster.host_addresses(), cluster.security(User.ADMIN))),
        )
        self.session = session
        with ExitStack() as load:
            load.callback(seal, self.run_dir)  # however the load ends, what its workers did can be read
            with self.ending.counted():
                self._under_load(session, steps, load)
        if self.ending.codes:
            return
        with self.ending.tolerant(Phase.AUDIT):
            topics = self.header.topics
            audit(self.run_dir, views, topics, run=run_number(self.run_id), within_s=AUDIT_S, clock=self.clock)
        self.audited = True

    def _under_load(self, session: Session, steps: tuple[Planned, ...], load: ExitStack) -> None:
        """Phases 6 to 10."""
        with self.phases.phase(Phase.LOAD):
            traffic = self._start_load(session, load)
        with self.ending.tolerant(Phase.PLAY):
            nemesis.play(steps, hands=hands(session, traffic, self.header), clock=self.clock)
        with self.ending.tolerant(Phase.RESTORE):
            session.restore()
        with self.ending.tolerant(Phase.RECOVER):
            under_load.recover(session, traffic, limit_s=self.header.limits["recovered_s"])
        with self.ending.tolerant(Phase.DRAIN), load:
            under_load.drain(session, traffic, self.header.topics)

    def _make_topics(self, cluster: Cluster, views: Views) -> None:
        # Made only now: a client that meets brokers before they listen waits longer and longer to try again.
        admin = self.runtime.admin(cluster.host_addresses().values(), cluster.security(User.ADMIN))
        if cluster.spec.security is Protection.SASL_SCRAM:
            # Before the topics: who knows those has applied these rights too.
            admin.allow(User.WORKER, rights_of(self.scenario))
        ids = make_topics(admin, views, self.scenario.topics, within_s=TOPICS_S, clock=self.clock)
        if any(named.word == "consume" for named in self.scenario.workloads):
            make_offsets_topic(views, within_s=TOPICS_S, clock=self.clock)
        settings = {
            **admin.broker_settings(cluster.spec.broker_ids),
            **controller_settings(cluster, within_s=TOPICS_S, clock=self.clock),
        }
        self.header = replace(
            self.header,
            topics=facts_of_topics(self.scenario.topics, ids),
            versions={**self.header.versions, **cluster.versions},
            broker_settings={str(node): found for node, found in settings.items()},
        )
        self.header.save(self.run_dir)

    def _start_load(self, session: Session, load: ExitStack) -> Traffic:
        topics = self.header.topics
        bootstrap = ",".join(map(str, session.cluster.client_addresses().values()))
        security = session.cluster.security(User.WORKER)
        workers, facts = workers_of(
            self.scenario, run_id=self.run_id, topics=topics, bootstrap=bootstrap, security=security
        )
        limit_s = recovery_limit_s(self.header.broker_settings, self.scenario, facts)
        self.header = replace(
            self.header, workloads=facts, limits={"recovered_s": limit_s, "drain_s": under_load.DRAIN_S}
        )
        self.header.save(self.run_dir)
        load.enter_context(session.observer(topics))
        self.traffic = load.enter_context(session.traffic(workers))
        self.traffic.wait_flowing(within_s=FLOW_S, clock=self.clock)
        if strangers := self.traffic.on_another_clock(self.header.clock):
            text = f"{', '.join(strangers)}: another machine's clock; what compares its times with ours will be unknown"
            self.events.write("note", text=text)
            self.progress.note(f"{text} (docs/where-it-runs.md)")
        return self.traffic

    def _restore(self, cluster: Cluster) -> None:
        cluster.restore()
        self.ledger.tick_all()

    def _leave(self, cluster: Cluster) -> None:
        """Phase 12, on every way out, and phase 8 if an error or a stop led here without it."""
        if Phase.RESTORE not in self.phases.begun:
            with self.ending.counted(), self.phases.phase(Phase.RESTORE):
                self._restore(cluster)
        with self.ending.counted(), self.phases.phase(Phase.GATHER):
            try:
                if not self.options.keep and (killed := cluster.stop_kafka()):
                    self.events.write("note", text=f"Kafka did not stop in time and was killed on nodes {killed}")
            finally:
                cluster.gather_logs(self.run_dir / "logs")

    def _judge(self) -> None:
        """Phases 14 and 15."""
        with self.phases.phase(Phase.JUDGE):
            result = judge(self.run_dir)
        with self.phases.phase(Phase.REPORT):
            self.ending.codes.add(EXIT_OF[result.answer])
