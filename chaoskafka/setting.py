"""What a run is set up with: its directory, its header, its workers and its limits. Pure but for the directory.

In: a scenario, what the cluster said of itself. Out: values for the run header and for the workers.
"""

from __future__ import annotations

import platform
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Protocol, cast

from chaoskafka import __version__
from chaoskafka.clock import clock_id, utc_now
from chaoskafka.cluster.rights import Right
from chaoskafka.cluster.security import PLAINTEXT, Security
from chaoskafka.cluster.spec import TopicSpec
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.history.header import FORMAT, RunHeader, TopicFacts, WorkloadFacts
from chaoskafka.scenario.facts import expect_facts, scenario_facts
from chaoskafka.scenario.model import Scenario, steps_of
from chaoskafka.scenario.plan import Planned, plan_facts
from chaoskafka.workloads.worker.arguments import WorkerArguments

TCP_RETRANSMISSION_S = 15.0  # after a cut, connections sit in retransmission backoff: 7-12 s measured, longer cuts more
CLIENT_TIMER = "socket.timeout.ms"  # the longest timer that a client arms over a fault
CLIENT_TIMER_DEFAULT_MS = 60_000.0  # librdkafka's default


class Workload(Protocol):
    """What produce and consume offer."""

    @property
    def rights(self) -> tuple[Right, ...]: ...
    def workers(
        self, *, run_id: str, first_worker: int, topics: Sequence[TopicFacts], bootstrap: str
    ) -> tuple[WorkerArguments, ...]: ...
    def facts(self, workers: Sequence[WorkerArguments]) -> WorkloadFacts: ...


@dataclass(frozen=True, slots=True)
class RunPlace:
    """The id of a run, which labels all that it creates, and its directory."""

    run_id: str
    run_dir: Path


def make_run_dir(out: Path, scenario: str, seed: int) -> RunPlace:
    """A fresh directory `out`/<scenario>/<UTC>-<seed>, with a link `latest` beside it.

    Raises EnvironmentFailure when it cannot be made.
    """
    stamp = utc_now().strftime("%Y%m%dT%H%M%S")
    run_id = f"{stamp.lower()}-{secrets.token_hex(3)}"
    above = out / scenario
    run_dir = above / f"{stamp}-{seed}"
    try:
        above.mkdir(parents=True, exist_ok=True)
        try:
            run_dir.mkdir()
        except FileExistsError:  # two runs of one seed in one second
            run_dir = above / f"{stamp}-{seed}-{run_id[-6:]}"
            run_dir.mkdir()
    except OSError as refused:
        raise EnvironmentFailure(f"{run_dir}: cannot be made: {refused.strerror}") from refused
    latest = above / "latest"
    partial = above / f".latest-{run_id}"
    with suppress(OSError):  # a file system without links does without
        partial.symlink_to(run_dir.name)
        partial.replace(latest)
    return RunPlace(run_id, run_dir)


def first_header(
    scenario: Scenario, seed: int, steps: Sequence[Planned], *, run_id: str, replay: str, runtime: str
) -> RunHeader:
    """The header as far as it is known before anything starts."""
    return RunHeader(
        format=FORMAT,
        run_id=run_id,
        scenario_name=scenario.name,
        scenario_file=scenario.file,
        scenario=scenario_facts(scenario),
        seed=seed,
        plan=plan_facts(steps),
        expect=expect_facts(scenario),
        versions={
            "chaoskafka": __version__,
            "confluent-kafka": version("confluent-kafka"),
            "python": platform.python_version(),
            "kernel": platform.release(),
        },
        replay=replay,
        runtime=runtime,
        clients="client_container",
        clock=clock_id(),
        wall_minus_monotonic_ns=time.time_ns() - time.monotonic_ns(),
        nodes={str(node.node_id): tuple(sorted(node.roles)) for node in scenario.cluster.members},
    )


def facts_of_topics(topics: Mapping[str, TopicSpec], ids: Mapping[str, str]) -> tuple[TopicFacts, ...]:
    """The topics as the header holds them; a topic's index is its place in the scenario."""
    return tuple(
        TopicFacts(
            name=name,
            index=index,
            topic_id=ids[name],
            partitions=spec.partitions,
            replication_factor=spec.replication_factor,
            min_insync_replicas=spec.min_insync_replicas,
        )
        for index, (name, spec) in enumerate(topics.items())
    )


def rights_of(scenario: Scenario) -> tuple[Right, ...]:
    """What the workers may do where ACLs rule: what their workloads need, and no more."""
    return tuple(right for named in scenario.workloads for right in cast("Workload", named.value).rights)


def workers_of(
    scenario: Scenario,
    *,
    run_id: str,
    topics: Sequence[TopicFacts],
    bootstrap: str,
    security: Security = PLAINTEXT,
) -> tuple[tuple[WorkerArguments, ...], tuple[WorkloadFacts, ...]]:
    """Every worker of every workload, ids counted through, and what the header says of each workload."""
    workers: list[WorkerArguments] = []
    facts: list[WorkloadFacts] = []
    for named in scenario.workloads:
        workload = cast("Workload", named.value)
        its = workload.workers(run_id=run_id, first_worker=len(workers), topics=topics, bootstrap=bootstrap)
        workers += [replace(worker, security=security) for worker in its]
        said = workload.facts(its)
        facts.append(replace(said, settings={**said.settings, **security.shown()}))
    return tuple(workers), tuple(facts)


def recovery_limit_s(
    broker_settings: Mapping[str, Mapping[str, str]], scenario: Scenario, workloads: Sequence[WorkloadFacts]
) -> float:
    """How long after the last healing began the cluster may take to be whole.

    max(longest fault, TCP retransmission) + S + S/8 + the longest armed client timer; S = broker.session.timeout.ms:
    a restarted broker is let in only when the lease of its dead incarnation has run out.
    """
    session_s = max(float(of["broker.session.timeout.ms"]) for of in broker_settings.values()) / 1000
    lengths_s = (
        getattr(step.fault, "for_s", None) or (step.until.within_s if step.until else None) or 0.0
        for step in steps_of(scenario.plan)
    )
    longest_s = max(lengths_s, default=0.0)
    timers_ms = [float(facts.settings.get(CLIENT_TIMER, CLIENT_TIMER_DEFAULT_MS)) for facts in workloads]
    return max(longest_s, TCP_RETRANSMISSION_S) + session_s * 9 / 8 + max(timers_ms, default=0.0) / 1000
