"""A trial: what one test asks of a cluster, recorded and judged as a run of a scenario is.

In: a lent cluster, topics, workloads; then faults, one after the other, as the test plays them. Out: a run directory
that `chaoskafka check` can judge again. The phases are those of a run (`run.py`); where a run plays a plan, the test's
own code stands, and what it plays becomes the plan in the header before it is played.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chaoskafka import machine, nemesis, under_load
from chaoskafka.audit.whole import AUDIT_S, audit
from chaoskafka.clock import NS_PER_S
from chaoskafka.cluster.admin import TOPICS_S, make_offsets_topic
from chaoskafka.cluster.security import Protection, User
from chaoskafka.ending import Ending
from chaoskafka.errors import UsageError
from chaoskafka.faults import Fault, Injected, has_window
from chaoskafka.hands import SessionHands, hands
from chaoskafka.history.events import EventLog
from chaoskafka.history.header import TopicFacts
from chaoskafka.history.identity import run_number
from chaoskafka.history.seal import seal
from chaoskafka.judge import judge
from chaoskafka.phases import Phase, Phases
from chaoskafka.progress import Progress
from chaoskafka.report.result import Result
from chaoskafka.scenario.facts import expect_facts, scenario_facts
from chaoskafka.scenario.model import Named, PlanStep, Scenario
from chaoskafka.scenario.plan import PlannedStep, plan, plan_facts
from chaoskafka.session import Session
from chaoskafka.setting import first_header, make_run_dir, recovery_limit_s, rights_of, workers_of
from chaoskafka.testing.clusters import Clusters, Lease
from chaoskafka.testing.guard import Guard
from chaoskafka.testing.place import Shared
from chaoskafka.traffic import FLOW_S, Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where a test's runs go and what they are called. `replay`: the command that runs the test again."""

    name: str
    title: str
    out: Path
    seed: int
    replay: str


class Trial:
    """One run of one test. Everything blocks; everything but `begin` may be called once `begin` has returned."""

    def __init__(self, setting: Setting, clusters: Clusters, lease: Lease, guard: Guard, progress: Progress) -> None:
        self._setting, self._lease, self._guard, self._progress = setting, lease, guard, progress
        self._runtime = clusters.runtime
        self._place = make_run_dir(setting.out, setting.name, setting.seed)
        self.run_id, self.run_dir = self._place.run_id, self._place.run_dir
        self.cluster = Shared(lease.cluster, self.run_id[-6:])
        self._settings = {str(node): found for node, found in lease.broker_settings.items()}
        self._log, self._body = ExitStack(), ExitStack()
        self._begun = self.ended = False
        self.in_force = 0  # faults

    def begin(self, scenario: Scenario, topics: Sequence[TopicFacts]) -> None:
        """Start the observer and the load, and wait until it flows. Raises EnvironmentFailure, WaitTimeout."""
        self._scenario = scenario
        with ExitStack() as log:
            self._events = log.enter_context(EventLog(self.run_dir / "events.jsonl"))
            self._set_up(topics)
            self._log = log.pop_all()

    def _set_up(self, topics: Sequence[TopicFacts]) -> None:
        self._phases = Phases(self._events, self._progress)
        self.ending = Ending(self.run_dir, self._events, self._phases, self._progress)
        with self._phases.phase(Phase.PLAN):
            self._head(topics)
        with self._phases.phase(Phase.PREFLIGHT):
            machine.check_run_directory(self.run_dir)
            for doubt in machine.doubts():
                self._events.write("note", text=doubt)
        self.session = Session(
            run_dir=self.run_dir,
            events=self._events,
            clock=self._guard.clock,
            progress=self._progress,
            cluster=self.cluster,
            views=self._lease.views,
            ledger=self._lease.ledger,
            moves=self._lease.moves,
        )
        with ExitStack() as load:
            load.callback(seal, self.run_dir)
            with self._phases.phase(Phase.LOAD):
                self._start(load, topics)
            self._load = load.pop_all()
        self._body.enter_context(self._phases.phase(Phase.PLAY))
        self._begun = True

    def _head(self, topics: Sequence[TopicFacts]) -> None:
        header = first_header(
            self._scenario,
            self._setting.seed,
            (),
            run_id=self.run_id,
            replay=self._setting.replay,
            runtime=self._runtime.name,
        )
        self.header = replace(
            header,
            clients=self._runtime.clients,
            topics=tuple(topics),
            versions={**header.versions, **self.cluster.versions},
            broker_settings=self._settings,
        )
        self.header.save(self.run_dir)
        self._events.write("note", text=f"cluster {self._lease.run_id}, test {self._lease.tests} on it; {self.whence}")

    @property
    def whence(self) -> str:
        """Why the cluster is the one it is."""
        lease = self._lease
        return f"opened because {lease.why}" if lease.tests == 1 else "kept from the test before, and whole"

    def _start(self, load: ExitStack, topics: Sequence[TopicFacts]) -> None:
        cluster, clock = self.cluster, self._guard.clock
        if cluster.spec.security is Protection.SASL_SCRAM:
            self._lease.admin.allow(User.WORKER, rights_of(self._scenario))
        if any(named.word == "consume" for named in self._scenario.workloads):
            make_offsets_topic(self._lease.views, within_s=TOPICS_S, clock=clock)
        bootstrap = ",".join(map(str, cluster.client_addresses().values()))
        workers, facts = workers_of(
            self._scenario,
            run_id=self.run_id,
            topics=topics,
            bootstrap=bootstrap,
            security=cluster.security(User.WORKER),
        )
        self.header = replace(self.header, workloads=facts, limits={"drain_s": under_load.DRAIN_S})
        self._write_plan()
        load.enter_context(self.session.observer(topics))
        self.traffic: Traffic = load.enter_context(self.session.traffic(workers))
        self.traffic.wait_flowing(within_s=FLOW_S, clock=clock)
        if strangers := self.traffic.on_another_clock(self.header.clock):
            self._events.write("note", text=f"{', '.join(strangers)}: another machine's clock")

    def hands(self) -> SessionHands:
        """For waits on conditions."""
        return hands(self.session, self.traffic, self.header)

    @contextmanager
    def fault(self, word: str, fault: Fault) -> Iterator[Injected]:
        """Play one fault; the body is its window, which lasts at least the fault's `for_s`.

        The first of several at once begins from a whole cluster under steady load. Raises what the fault raises.
        """
        if self.ended:
            raise UsageError(f"chaos.{word}: the traffic has ended: a fault without load answers nothing")
        with ExitStack() as section, ExitStack() as window:
            with self._guard.work():
                step = self._planned(word, fault)
                if not self.in_force:
                    under_load.gate(self.session, self.traffic)
                hit = window.enter_context(self.session.fault(step))
                # Healing begins with this: from then on no signal cuts it short.
                window.callback(lambda: section.enter_context(self._guard.undisturbed()))
                self.in_force += 1
                window.callback(self._over)
            yield hit
            with self._guard.work():
                self._last(step, hit)

    def _over(self) -> None:
        self.in_force -= 1

    def _last(self, step: PlannedStep, hit: Injected) -> None:
        clock, fault = self._guard.clock, step.fault
        asked_s = getattr(fault, "for_s", None) if has_window(fault) else nemesis.ACTION_S
        since_s = (clock.now_ns() - hit.acted_ns) / NS_PER_S
        if asked_s is None:
            self._took(step, since_s)
        else:
            clock.pause(max(0.0, asked_s - since_s))

    def _planned(self, word: str, fault: Fault) -> PlannedStep:
        step = PlanStep(after_s=0.0, word=word, fault=fault)
        self._scenario = replace(self._scenario, plan=(*self._scenario.plan, step))
        planned = self._write_plan()[-1]
        assert isinstance(planned, PlannedStep)
        return planned

    def _took(self, step: PlannedStep, seconds: float) -> None:
        """A window without a length had this one: recovery is given time accordingly."""
        items = list(self._scenario.plan)
        was = items[step.index]
        assert isinstance(was, PlanStep)
        items[step.index] = replace(was, fault=replace(was.fault, for_s=round(seconds, 3)))  # type: ignore[type-var]
        self._scenario = replace(self._scenario, plan=tuple(items))
        self._write_plan()

    def _write_plan(self) -> Sequence[Any]:
        steps = plan(self._scenario, self._setting.seed)
        limit_s = recovery_limit_s(self._settings, self._scenario, self.header.workloads)
        self.header = replace(
            self.header,
            scenario=scenario_facts(self._scenario),
            plan=plan_facts(steps),
            expect=expect_facts(self._scenario),
            limits={**self.header.limits, "recovered_s": limit_s},
        )
        self.header.save(self.run_dir)
        return steps

    def finish(self) -> None:
        """Phases 8 to 11: heal, recover, drain, audit. What does not come makes the answer unknown. Once."""
        if self.ended:
            return
        self.ended = True
        with self._log, self._guard.work(), self._spoiling():
            self._body.close()
            with self.ending.tolerant(Phase.RESTORE):
                self.session.restore()
            with self.ending.tolerant(Phase.RECOVER):
                under_load.recover(self.session, self.traffic, limit_s=self.header.limits["recovered_s"])
            with self.ending.tolerant(Phase.DRAIN), self._load:
                under_load.drain(self.session, self.traffic, self.header.topics)
            topics = self.header.topics
            with self.ending.tolerant(Phase.AUDIT):
                audit(
                    self.run_dir,
                    self._lease.views,
                    topics,
                    run=run_number(self.run_id),
                    within_s=AUDIT_S,
                    clock=self._guard.clock,
                )

    def judge(self, expect: Sequence[Named[Any]]) -> Result:
        """By the checks of `expect`, and `took_effect`. Raises HistoryError."""
        self._scenario = replace(self._scenario, expect=tuple(expect))
        self._write_plan()
        return judge(self.run_dir)

    def leave(self) -> None:
        """However the test ended: heal, end the load in a hurry, keep the logs. Safe to call again, after anything."""
        if self.ended or not self._begun:
            return
        self.ended = True
        with self._log, self._guard.undisturbed(), self._spoiling(), ExitStack() as all_of_it:
            all_of_it.callback(self.gather)
            all_of_it.push(self._load)
            all_of_it.callback(self.session.restore)
            self._body.close()

    def note(self, text: str) -> None:
        """A line in the run directory's events; none before the load has begun or after its end."""
        if self._begun and not self.ended:
            self._events.write("note", text=text)

    def gather(self) -> None:
        """The nodes' logs into the run directory: for a test that did not pass."""
        self.cluster.gather_logs(self.run_dir / "logs")

    @contextmanager
    def _spoiling(self) -> Iterator[None]:
        """Whoever cannot be healed or left properly is nothing for the next test."""
        try:
            yield
        except BaseException as error:
            self._lease.spoiled = f"{self._setting.name} left it broken: {error}"
            raise
        finally:
            self._lease.places += self.cluster.launched
            self.cluster.launched = 0
