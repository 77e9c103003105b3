"""`chaoskafka watch … -- COMMAND…`: load and an observer round a person's own maintenance of a cluster of theirs.

In: where the cluster is, and what is done to it. Out: a run like any other, judged by what clients were told and what
brokers say. A topic and a group of its own are made there, and deleted at the end.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from chaoskafka.clock import Clock
from chaoskafka.cluster.abilities import Address, CanHostClients
from chaoskafka.cluster.admin import Admin
from chaoskafka.cluster.client_file import read_security
from chaoskafka.cluster.security import PLAINTEXT, Security
from chaoskafka.cluster.spec import ClusterSpec, FoundSpec, TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.commands import WatchRequest
from chaoskafka.commands.output import complain, gravest, show_result, writable, write_reports
from chaoskafka.commands.progress import shown_on
from chaoskafka.commands.report import write_page
from chaoskafka.ending import EXIT_OF
from chaoskafka.errors import ChaosKafkaError, EnvironmentFailure, ExitCode, HistoryError, UsageError, told
from chaoskafka.fleet.playing import problem_of
from chaoskafka.phases import interrupted_by_signals
from chaoskafka.report.as_junit import Unjudged
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.run import RunOptions, RunOutcome, run_scenario
from chaoskafka.runtime import Note, Opens, Runtime
from chaoskafka.runtimes.external.found import Found, find
from chaoskafka.runtimes.external.open import open_cluster
from chaoskafka.runtimes.removal import Removal
from chaoskafka.scenario import catalogue, seeds
from chaoskafka.scenario.bind import BindError, bind
from chaoskafka.scenario.catalogue import Kind
from chaoskafka.scenario.model import DEFAULT_EXPECT, Named, PlanStep, Scenario
from chaoskafka.scenario.rules import broken_rules
from chaoskafka.scenario.source import read_tree, show

NAME = "watch"  # of the scenario, so of the directory that holds such runs
PARTITIONS, REPLICAS = 6, 3
BEFORE_S = 5.0  # of steady load
EXPECT = (*DEFAULT_EXPECT, "no_duplicates", "ordered")


def main(request: WatchRequest) -> ExitCode:
    """Blocks as long as the command works, and about a minute more.

    Raises UsageError before anything was made, and EnvironmentFailure when the cluster does not answer.
    """
    writable(request.junit, request.json)
    security = read_security(request.security) if request.security is not None else PLAINTEXT
    with interrupted_by_signals():
        found = find([_address(text) for text in request.bootstrap], security)
        group = f"chaoskafka-{NAME}-{secrets.token_hex(3)}"  # nobody else's, so that it can be deleted
        topic = request.topic or group
        scenario = _scenario(request, found, topic, group)
        _refuse_existing(topic, found, security)
        outcome, problem = None, ""
        try:
            with _deleted(topic, group, found, security):
                outcome = _play(scenario, request, external(found, security))
        except ChaosKafkaError as failed:
            if outcome is None:
                raise
            problem = told(failed)
            complain(f"chaoskafka: left in the cluster: {problem}")
    code = gravest([outcome.exit_code, *[ExitCode.ENVIRONMENT] * bool(problem)])
    _report(outcome.run_dir, code, problem, request)
    return code


def external(found: Found, security: Security) -> Runtime:
    """A runtime without any ability to break something: clients stand on this machine."""

    def prepare(spec: ClusterSpec, _: Note, __: Clock) -> Opens:
        return partial(open_cluster, spec, found=found, security=security)

    return Runtime(name="external", abilities=(CanHostClients,), prepare=prepare, clients="host")


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise UsageError(f"--bootstrap {text!r}: expected HOST:PORT")
    return Address(host.strip("[]"), int(port))


def _scenario(request: WatchRequest, found: Found, topic: str, group: str) -> Scenario:
    """Raises UsageError."""
    replicas = min(REPLICAS, len(found.brokers))
    command = {
        "run": list(request.command),
        "bites_when": _condition("--bites-when", request.bites_when),
        "heals_when": _condition("--heals-when", request.heals_when),
        "run_s": request.run_s,
    }
    produce = {"topic": topic, "rate_per_s": request.rate_per_s, "acks": "all", "client": "harness"}
    try:
        step = PlanStep(
            after_s=BEFORE_S, word="command", fault=_bound(Kind.FAULT, "command", command), path=("command",)
        )
        scenario = Scenario(
            name=NAME,
            file=None,
            title=f"Watched: {shlex.join(request.command)}"[:200],
            question="Do clients of this cluster get through what is done to it, and is nothing lost?",
            cluster=FoundSpec(found=tuple(sorted(found.brokers))),
            topics={
                topic: TopicSpec(
                    partitions=PARTITIONS, replication_factor=replicas, min_insync_replicas=max(1, replicas - 1)
                )
            },
            workloads=tuple(
                Named(word=word, value=_bound(Kind.WORKLOAD, word, keys))
                for word, keys in (("produce", produce), ("consume", {"topic": topic, "group": group}))
            ),
            plan=(step,),
            expect=tuple(Named(word=word, value=_bound(Kind.CHECK, word, {})) for word in EXPECT),
        )
    except (BindError, ValueError) as wrong:
        raise UsageError(f"watch: {wrong}") from wrong
    for path, problem in broken_rules(scenario):
        raise UsageError(f"watch: {show(path)}: {problem}")
    return scenario


def _bound(kind: Kind, word: str, keys: dict[str, Any]) -> Any:
    return bind(catalogue.find(kind, word), keys)


def _condition(option: str, text: str) -> Any:
    """As a scenario would write it. Raises ScenarioError."""
    return read_tree(text, option).value


def _play(scenario: Scenario, request: WatchRequest, runtime: Runtime) -> RunOutcome:
    with shown_on() as progress:
        options = RunOptions(
            seed=seeds.draw(),
            out=request.out,
            keep=False,
            timeout_s=None,
            progress=progress,
            replay=_replay(request),
        )
        return run_scenario(scenario, options=options, runtime=runtime)


def _refuse_existing(topic: str, found: Found, security: Security) -> None:
    """What was there before is not ours to write to, and not ours to delete. Raises UsageError, EnvironmentFailure."""
    answers = [view for view in Views(found.brokers, security).ask_all([topic]) if view.reachable]
    if not answers:
        raise EnvironmentFailure("no broker says which topics there are")
    if any(name == topic for view in answers for name, _ in view.partitions):
        raise UsageError(f"--topic {topic}: it exists, and would be deleted at the end; name one that does not")


@contextmanager
def _deleted(topic: str, group: str, found: Found, security: Security) -> Iterator[None]:
    """Afterwards the topic and the group are gone. Raises EnvironmentFailure, naming what is left."""
    with Removal() as removal:
        admin = Admin(found.brokers.values(), security)
        removal.add(f"deleting group {group}", lambda: admin.delete_groups([group]))
        removal.add(f"deleting topic {topic}", lambda: admin.delete_topics([topic]))
        yield


def _report(run_dir: Path, code: ExitCode, problem: str, request: WatchRequest) -> None:
    """A run that did not end as its result says, since something is left, is never a pass in a report."""
    judged, unjudged = [], []
    try:
        result = read_result(run_dir / RESULT_FILE)
    except HistoryError:
        complain(f"chaoskafka: not judged; what there is: {run_dir}")
        unjudged.append(Unjudged(name=NAME, problem=problem_of(run_dir) or "not judged"))
    else:
        show_result(result, run_dir)
        judged.append((result, run_dir))
        if code is not EXIT_OF[result.answer]:
            unjudged.append(Unjudged(name=NAME, problem=problem or code.name.lower()))
    write_page(run_dir)
    write_reports(judged, unjudged, junit=request.junit, json_lines=request.json)


def _replay(request: WatchRequest) -> str:
    words = ["chaoskafka", NAME, *(word for text in request.bootstrap for word in ("--bootstrap", text))]
    if request.security is not None:
        words += ["--security", str(request.security)]
    words += ["--bites-when", request.bites_when, "--heals-when", request.heals_when]
    return shlex.join([*words, "--", *request.command])
