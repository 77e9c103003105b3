"""A Kafka cluster as one test sees it: topics of its own, one traffic, its applications. In: a lease. Out: those.

The nodes may be shared with the tests before and after; names, run directories and client places are not.
"""

from __future__ import annotations

import os
import random
import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal

from chaoskafka.cluster.abilities import ClientProcess
from chaoskafka.cluster.admin import TOPICS_S, make_topics
from chaoskafka.cluster.security import User
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import UsageError
from chaoskafka.progress import Progress
from chaoskafka.scenario.bind import BindError, bind
from chaoskafka.setting import facts_of_topics
from chaoskafka.stage import who_is
from chaoskafka.testing.application import BOOTSTRAP, Application
from chaoskafka.testing.chaos import Chaos
from chaoskafka.testing.clusters import Clusters, Lease
from chaoskafka.testing.guard import Guard
from chaoskafka.testing.host import HostProcess
from chaoskafka.testing.load import Load
from chaoskafka.testing.traffic import Traffic
from chaoskafka.testing.trial import Setting, Trial
from chaoskafka.testing.who import Names, Topic

DEFAULT_TOPIC = "orders"  # of traffic for which no topic was made


class KafkaCluster:
    """What the fixture `kafka_cluster` gives."""

    def __init__(self, setting: Setting, clusters: Clusters, lease: Lease, guard: Guard, progress: Progress) -> None:
        self._setting, self._clusters, self._lease = setting, clusters, lease
        self._guard, self._progress = guard, progress
        self._topics: dict[str, tuple[Topic, TopicSpec, str]] = {}  # by Kafka's name; with its id
        self._suffix = f"-{lease.run_id[-2:]}{lease.tests}"  # no test on this cluster had it
        self._traffics: list[Traffic] = []
        self.names = Names()
        self.chaos = Chaos(self.trial, self.names, clusters.runtime)

    @property
    def spec(self) -> ClusterSpec:
        """What the cluster is made of."""
        return self._lease.wanted.spec

    @property
    def bootstrap_servers(self) -> str:
        """Its brokers, as reached from the test's own process: for clients of its own, not for proofs."""
        return self._bootstrap("host")

    @property
    def client_settings(self) -> Mapping[str, str]:
        """librdkafka's settings for a client of the test's own: where the brokers are, and how to get in."""
        security = self._lease.cluster.security(User.WORKER).librdkafka()
        return {"bootstrap.servers": self.bootstrap_servers, **security}

    @property
    def whence(self) -> str:
        """Whether it is the cluster of the test before, or why it is not."""
        lease = self._lease
        return "kept from the test before" if lease.tests > 1 else f"fresh: {lease.why}"

    def create_topic(self, name: str, **settings: Any) -> Topic:
        """A topic that only this test has, with full ISR. Blocks. `settings`: those of a scenario's topic.

        Without any: 6 partitions, and as many copies as there are brokers, at most 3. Raises UsageError.
        """
        brokers = len(self.spec.broker_ids)
        copies = min(3, brokers)
        defaults = {"replication_factor": copies, "min_insync_replicas": max(1, copies - 1)}
        try:
            spec = bind(TopicSpec, {**defaults, **settings})
        except BindError as wrong:
            raise UsageError(f"create_topic({name!r}): {wrong}") from wrong
        if name in self.names.topics:
            raise UsageError(f"create_topic({name!r}): this test made a topic of that name already")
        if spec.replication_factor > brokers:
            raise UsageError(f"create_topic({name!r}): replication_factor {spec.replication_factor}, {brokers} brokers")
        own = f"{name}{self._suffix}"
        with self._guard.work():
            ids = make_topics(
                self._lease.admin, self._lease.views, {own: spec}, within_s=TOPICS_S, clock=self._guard.clock
            )
        topic = Topic(asked=name, name=own, partitions=spec.partitions)
        self._topics[own] = topic, spec, ids[own]
        self._lease.partitions += spec.partitions
        self.names.topics[name] = own
        return topic

    def traffic(self, *topics: Topic, **load: Any) -> Traffic:
        """Producers and consumers, recorded: a context manager; see `Load` for what can be said of them.

        Of `topics`, all of which this test made; without any: of a topic `orders`. One at a time.
        """
        if self._traffic is not None and not self._traffic.is_over:
            raise UsageError("kafka_cluster.traffic: one flows already; a test has one at a time")
        wanted = Load.of(load)
        names = [topic.name for topic in topics or (self.create_topic(self._unused()),)]
        known = {name: spec for name, (_, spec, _) in self._topics.items()}
        if strange := [name for name in names if name not in known]:
            raise UsageError(f"kafka_cluster.traffic: {', '.join(strange)}: this test made no such topic")
        if full := [topic.asked for before in self._traffics for topic in before.topics if topic.name in names]:
            raise UsageError(f"kafka_cluster.traffic: {', '.join(full)}: messages of other traffic lie there")
        groups = {wanted.group: f"{wanted.group}{self._suffix}"}
        self.names.groups.update(groups)
        specs = {name: known[name] for name in names}
        ids = {name: self._topics[name][2] for name in names}
        trial = Trial(self._setting, self._clusters, self._lease, self._guard, self._progress)
        scenario = wanted.scenario(self._setting, self.spec, specs, group=groups[wanted.group])
        traffic = Traffic(
            trial, scenario, facts_of_topics(specs, ids), [self._topics[name][0] for name in names], self._guard
        )
        self._traffics.append(traffic)
        return traffic

    def application(
        self,
        argv: Sequence[str],
        *,
        name: str = "application",
        env: Mapping[str, str] | None = None,
        place: Literal["host", "client"] = "host",
        package: Path | None = None,
    ) -> Application:
        """A command beside the traffic: a context manager; see `Application`. `argv[0] == "python"`: ours.

        Told by its environment where the brokers are (KAFKA_BOOTSTRAP_SERVERS) and where it may write (CHAOSKAFKA_DIR).
        `place`: a process of this machine; or a client place, which has our Python and client libraries, and `package`,
        a directory that it can import. Raises UsageError before there is traffic, whose run directory it writes to.
        """
        if self._traffic is None:
            raise UsageError("kafka_cluster.application: make the traffic first: its run directory keeps what it wrote")
        if any(app.name == name for app in self._traffic.applications):
            raise UsageError(f"kafka_cluster.application: this test has an application {name!r} already")
        directory = self._traffic.run_dir / "applications" / name
        environment = {BOOTSTRAP: self._bootstrap(place), **(env or {})}
        starts = count(1)
        shared = self._traffic.trial.cluster

        def launch() -> ClientProcess:
            if place == "host":
                path = os.pathsep.join(
                    filter(None, [str(package.parent) if package else "", os.environ.get("PYTHONPATH", "")])
                )
                return HostProcess(name, argv, {**({"PYTHONPATH": path} if path else {}), **environment}, directory)
            return shared.launch(f"{name}-{next(starts)}", argv, environment, package=package)

        application = Application(name, launch, directory, self._guard)
        self._traffic.applications.append(application)
        self._traffic.trial.note(f"application {name}, place {place}: {shlex.join(argv)}")
        return application

    def _unused(self) -> str:
        """A name for a topic that was not made by the test itself."""
        numbered = (f"{DEFAULT_TOPIC}{number}" for number in count(2))
        return next(name for name in chain([DEFAULT_TOPIC], numbered) if name not in self.names.topics)

    @property
    def _traffic(self) -> Traffic | None:
        """The latest."""
        return self._traffics[-1] if self._traffics else None

    def _bootstrap(self, place: str) -> str:
        cluster = self._lease.cluster
        addresses = cluster.host_addresses() if place == "host" else cluster.client_addresses()
        return ",".join(map(str, addresses.values()))

    def trial(self) -> Trial:
        """The run that faults belong to. Raises UsageError when no traffic flows."""
        if self._traffic is None or not self._traffic.flows:
            raise UsageError(
                "a fault without load answers nothing: use the fixture `traffic`, or `with kafka_cluster.traffic():`"
            )
        return self._traffic.trial

    def who(self, target: Target | str) -> tuple[int, ...]:
        """Who a target is right now, as the brokers say. Blocks. Raises NoTarget."""
        views, rng = self._lease.views, random.Random(self._setting.seed)  # noqa: S311 - chance, not secrecy
        wanted = self.names.target(target)
        return who_is(wanted, views.ask_all(), cluster=self._lease.cluster, views=views, rng=rng).nodes

    @property
    def run_dir(self) -> Path | None:
        """Of the latest traffic; None before the first."""
        return self._traffic.run_dir if self._traffic is not None else None

    def close(self, *, passed: bool) -> None:
        """The test is over. Raises Unverified when it passed and any of its traffic was never verified."""
        with ExitStack() as ending:
            for traffic in self._traffics:
                ending.callback(traffic.end, passed=passed)
                for application in traffic.applications:
                    ending.callback(application.end)
