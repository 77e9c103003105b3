"""The fake runtime put together: a cluster in memory, and the real worker and observer as threads beside it.

In: lies to tell, if any. Out: a Runtime that plays a whole run in seconds, without Kafka, containers or a client
library. `FAKE` is the honest one, for rehearsing a scenario; those that lie are for tests.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from chaoskafka.clock import Clock
from chaoskafka.cluster.abilities import Address, Cluster
from chaoskafka.cluster.security import Security
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.probes.observer import FILE, Arguments, Journal, observe
from chaoskafka.runtime import Note, Opens, Runtime
from chaoskafka.runtimes import ABILITIES
from chaoskafka.runtimes.fake.clients import Seat
from chaoskafka.runtimes.fake.kafka import FakeKafka
from chaoskafka.runtimes.fake.lies import Lie
from chaoskafka.runtimes.fake.open import FakeAdmin, open_cluster
from chaoskafka.runtimes.fake.timers import Timers
from chaoskafka.workloads.worker.arguments import PRODUCE, WorkerArguments
from chaoskafka.workloads.worker.fake import FakeClients
from chaoskafka.workloads.worker.work import Place, work


def run_worker(seat: Seat, document: str) -> int:
    """`python -m chaoskafka.workloads.worker` in a thread, on a fake client."""
    arguments = WorkerArguments.from_json(document)
    place = Place(
        clients=FakeClients(seat.kafka),
        stop=seat,
        out=seat.out,
        err=seat.err,
        bound=lambda _, __: nullcontext(),  # a fake client that hangs says so itself
    )
    code = work(arguments, seat.directory, place)
    if arguments.role == PRODUCE and seat.kafka.claim(Lie.MISCOUNT):
        path = seat.directory / "worker.json"
        said = json.loads(path.read_text())
        path.write_text(json.dumps({**said, "acknowledged": said["acknowledged"] + 1}))
    return code


def run_observer(seat: Seat, document: str) -> int:
    """`python -m chaoskafka.probes.observer` in a thread."""

    async def until_asked(stop: asyncio.Event) -> None:
        await asyncio.to_thread(seat.stop.wait)
        stop.set()

    async def watch(journal: Journal) -> None:
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(until_asked(stop))
            tasks.create_task(observe(Arguments.parse(document), journal, stop, seat.out))

    with Journal(seat.directory / FILE) as journal:
        asyncio.run(watch(journal))
    seat.look()
    return 0


def run_controllers(seat: Seat, document: str) -> int:
    """`python -m chaoskafka.cluster.controllers` in a thread."""
    seat.out.write(json.dumps({"settings": FakeAdmin(seat.kafka).broker_settings(json.loads(document))}) + "\n")
    return 0


PROGRAMS = {
    "chaoskafka.workloads.worker": run_worker,
    "chaoskafka.probes.observer": run_observer,
    "chaoskafka.cluster.controllers": run_controllers,
}


@dataclass(slots=True, kw_only=True)
class Rehearsal:
    """One fake runtime; its clusters come one after the other. `kafka`: the newest one's."""

    lies: frozenset[Lie] = frozenset()
    timers: Timers = field(default_factory=Timers)
    kafka: FakeKafka | None = None

    @property
    def runtime(self) -> Runtime:
        return Runtime(
            name="fake", abilities=ABILITIES["fake"], clients="thread", prepare=self._prepare, admin=self._admin
        )

    def _prepare(self, spec: ClusterSpec, _: Note, __: Clock) -> Opens:
        @contextmanager
        def opens(*, run_id: str, clock: Clock, keep: bool) -> Iterator[Cluster]:  # noqa: ARG001 - the contract's
            self.kafka = FakeKafka(spec, timers=self.timers, lies=self.lies)
            with open_cluster(self.kafka, PROGRAMS) as cluster:
                yield cluster

        return opens

    def _admin(self, _: Iterable[Address], __: Security) -> FakeAdmin:
        assert self.kafka is not None
        return FakeAdmin(self.kafka)


FAKE = Rehearsal().runtime
