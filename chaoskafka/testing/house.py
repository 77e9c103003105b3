"""What one pytest process has for its tests with chaos: options, signals, clusters. In: pytest's config. Out: fixtures.

Made when the first such test is set up, and only then: all that is heavy is imported with this module.
"""

from __future__ import annotations

import hashlib
import logging
import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from chaoskafka.commands.choice import chosen
from chaoskafka.fleet.playing import RUNTIMES
from chaoskafka.phases import interrupted_by_signals
from chaoskafka.runtime import Runtime
from chaoskafka.testing.clusters import Clusters, Lease, Scope, Wanted
from chaoskafka.testing.guard import Guard
from chaoskafka.testing.kafka import KafkaCluster
from chaoskafka.testing.options import Options, asked_of, options
from chaoskafka.testing.trial import Setting

PASSED = pytest.StashKey[bool]()  # of an item: whether its call did; one that was cut short has none
NAME_MAX = 80  # characters of a test's name in the name of its run directory


class Logged:
    """A Progress that pytest captures: shown for tests that fail, or live with --log-cli-level=INFO."""

    _log = logging.getLogger("chaoskafka")

    def phase(self, number: int, name: str) -> None:
        self._log.info("phase %s: %s", number, name)

    def status(self, text: str) -> None: ...

    def note(self, text: str) -> None:
        self._log.info("%s", text)


class House:
    """One per process; `close` removes what is left."""

    def __init__(self, config: pytest.Config) -> None:
        self.options: Options = options(config)
        self.options = replace(self.options, runtime=chosen(self.options.runtime))
        self.progress = Logged()
        self.guard = Guard(self.progress)
        self.clusters = Clusters(self.runtime, self.guard, self.progress)
        self._life = ExitStack()
        self._life.enter_context(interrupted_by_signals())

    @property
    def runtime(self) -> Runtime:
        return RUNTIMES[self.options.runtime]

    def close(self) -> None:
        """Blocks. Raises what the removal raises."""
        with self._life:
            self.clusters.end()

    @contextmanager
    def cluster(self, item: pytest.Item) -> Iterator[KafkaCluster]:
        """The cluster that a test asked for, kept or fresh; its load is over on leaving."""
        spec, scope = asked_of(item, self.options)
        wanted = Wanted(spec=spec, scope=scope, holder=_holder(item, scope))
        lease = self.clusters.lend(wanted)
        with self._lent(item, lease) as kafka:
            try:
                yield kafka
            finally:
                self.clusters.give_back(lease)

    @contextmanager
    def own_cluster(self, item: pytest.Item, why: str, **words: object) -> Iterator[KafkaCluster]:
        """One more cluster, for this test alone."""
        spec, _ = asked_of(item, replace(self.options, cluster={**self.options.cluster, **words}))
        lease = self.clusters.open(Wanted(spec=spec, scope=Scope.FUNCTION, holder=item.nodeid), why)
        try:
            with self._lent(item, lease) as kafka:
                yield kafka
        finally:
            with self.guard.undisturbed():
                lease.close()

    @contextmanager
    def _lent(self, item: pytest.Item, lease: Lease) -> Iterator[KafkaCluster]:
        kafka = KafkaCluster(self.setting(item), self.clusters, lease, self.guard, self.progress)
        item.user_properties.append(("chaoskafka_cluster", kafka.whence))
        try:
            yield kafka
        finally:
            kafka.close(passed=item.stash.get(PASSED, False))

    def setting(self, item: pytest.Item) -> Setting:
        """Where the runs of a test go."""
        seed = self.options.seed
        replay = ["pytest", item.nodeid, "--chaoskafka-seed", str(seed)]
        if self.options.runtime != "docker":
            replay += ["--chaoskafka-runtime", self.options.runtime]
        return Setting(
            name=run_name(item.nodeid),
            title=item.nodeid,
            out=self.options.out,
            seed=seed,
            replay=shlex.join(replay),
        )


def run_name(nodeid: str) -> str:
    """`tests/test_orders.py::test_kill[1]` -> `test_orders.test_kill-1`; a long one is cut, and told apart by a sum."""
    path, _, rest = nodeid.partition("::")
    stem = path.rpartition("/")[2].removesuffix(".py")
    name = re.sub(r"[^A-Za-z0-9_.]+", "-", f"{stem}.{rest.replace('::', '.')}" if rest else stem).strip("-.")
    if len(name) <= NAME_MAX:
        return name or "test"
    return f"{name[: NAME_MAX - 9]}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"


def _holder(item: pytest.Item, scope: Scope) -> str:
    return {Scope.SESSION: "", Scope.MODULE: module_of(item), Scope.FUNCTION: item.nodeid}[scope]


def module_of(item: pytest.Item) -> str:
    """What a cluster of scope module belongs to."""
    return item.nodeid.partition("::")[0]
