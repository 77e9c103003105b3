"""One bench per runtime: a cluster that has formed, and a stage on which every fault of the suite is played.

In: the runtimes that the command line knows. Out: a bench per runtime, its cluster opened once per module and found
removed at the end. Real clusters are for `make nightly`; the fake's is for every change.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, cast

import pytest

from chaoskafka.clock import MonotonicClock, wait_until
from chaoskafka.cluster.abilities import CanPartition, Cluster, Knock, Node
from chaoskafka.cluster.ready import wait_recovered
from chaoskafka.cluster.security import User
from chaoskafka.cluster.spec import ClusterSpec, Timeouts
from chaoskafka.cluster.views import Views
from chaoskafka.commands import RuntimeName
from chaoskafka.faults import Injected, cutting, pause, playing
from chaoskafka.faults.playing import client_port
from chaoskafka.fleet.playing import RUNTIMES
from chaoskafka.runtime import Runtime
from chaoskafka.runtimes.docker.engine import connect
from chaoskafka.runtimes.locks import runs_directory
from chaoskafka.stage import TargetStage
from tests.cluster.conftest import objects_of

REAL = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.timeout(900)]
MARKS = {
    RuntimeName.DOCKER: REAL,
    RuntimeName.PROCESS: [*REAL, pytest.mark.process],
    RuntimeName.PROCESS_PLAIN: [*REAL, pytest.mark.process_plain],
    RuntimeName.FAKE: [],
}
SPEC = ClusterSpec(nodes=3, timeouts=Timeouts.FAST, config={"offsets.topic.num.partitions": "3"})
WHOLE_S = 180.0  # 10 s on an idle machine, after a node was killed


class Plays(Protocol):
    """A fault, as this suite needs it."""

    needs: ClassVar[tuple[type[Node], ...]]

    def inject(self, stage: Any) -> AbstractContextManager[Injected]: ...


@dataclass
class Bench:
    """A runtime's cluster, to be hurt and healed."""

    runtime: Runtime
    cluster: Cluster
    views: Views
    patience_s: float  # for what will not be seen: long enough for one look
    played: int = field(default=0)

    @property
    def is_real(self) -> bool:
        return self.runtime.name != RuntimeName.FAKE

    def node(self, number: int) -> Any:
        return self.cluster.nodes[number]

    def play(self, fault: Plays) -> AbstractContextManager[Injected]:
        """As the nemesis would, under a number of its own."""
        self.played += 1
        stage = TargetStage(self.cluster, self.views, random.Random(1), fault=self.played, word="conformance")
        return fault.inject(stage)

    def see_whole(self) -> None:
        """Every node answers, no rule of ours is left, and every broker says that all is in sync."""
        for node in self.cluster.nodes.values():
            wait_until(
                f"{node.spec.name} to answer",
                read=lambda node=node: node.knock(client_port(node), within_s=5, until=Knock.ANSWERED),  # type: ignore[misc]
                good=lambda knock: knock is Knock.ANSWERED,
                within_s=WHOLE_S,
            )
            if CanPartition in self.runtime.abilities:
                assert cast("CanPartition", node).rules() == ""
        wait_recovered(self.views, SPEC, within_s=WHOLE_S, clock=MonotonicClock())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What a runtime declares to lack is not asked of it: such a test is none of its, which is no skip."""
    out = {item for item in items if (needs := _needs(item)) and needs - _declared(item)}
    if out:
        config.hook.pytest_deselected(items=list(out))
        items[:] = [item for item in items if item not in out]


def _needs(item: pytest.Item) -> set[type]:
    return {ability for mark in item.iter_markers("needs") for ability in mark.args}


def _declared(item: pytest.Item) -> set[type]:
    assert isinstance(item, pytest.Function)
    return set(RUNTIMES[item.callspec.params["opened"]].abilities)


@pytest.fixture(
    scope="module", params=[pytest.param(name, id=name.value, marks=marks) for name, marks in MARKS.items()]
)
def opened(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A cluster for all tests of the module; once it is left, nothing of it is to be found."""
    runtime, run_id, clock = RUNTIMES[request.param], f"conformance-{secrets.token_hex(3)}", MonotonicClock()
    opens = runtime.prepare(SPEC, lambda _: None, clock)
    with opens(run_id=run_id, clock=clock, keep=False) as cluster:
        views = runtime.views(cluster.host_addresses(), cluster.security(User.OBSERVER))
        bench = Bench(runtime=runtime, cluster=cluster, views=views, patience_s=3.0)
        if not bench.is_real:
            bench.patience_s = 0.1
        bench.see_whole()
        yield bench
    assert [path.name for path in runs_directory().iterdir() if path.name.startswith(run_id)] == []
    if request.param is RuntimeName.DOCKER:
        with connect() as engine:
            assert objects_of(engine, run_id) == []


@pytest.fixture
def bench(opened: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Whole before each test, and again after it, whatever it left."""
    if not opened.is_real:
        monkeypatch.setattr(cutting, "SILENCE_S", 0.01)  # what a rule of the fake stops is silent at once
        for module in (playing, pause):
            monkeypatch.setattr(module, "KNOCKS_S", 0.05)  # and who answers there does so at once
    yield opened
    monkeypatch.undo()
    opened.cluster.restore()
    opened.see_whole()
