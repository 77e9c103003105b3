"""A cluster in memory that keeps the contracts of `cluster.abilities`: nodes that die and start, clients, answers.

Every call of a contract is written to `acts`, and asks `trouble` for an error to raise or a thing to do: what real
engines and brokers cannot be told to do at a given moment.
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from chaoskafka.clock import Clock
from chaoskafka.cluster.abilities import Address, CanHostClients, CanKill, Deed, ExitStatus, Knock, NodeState
from chaoskafka.cluster.credentials import make_credentials
from chaoskafka.cluster.rights import Right
from chaoskafka.cluster.security import Security, User
from chaoskafka.cluster.sights import BrokerView, PartitionView
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec, TopicSpec
from chaoskafka.cluster.wire import asks
from chaoskafka.errors import NoAnswer
from chaoskafka.runtime import Runtime
from chaoskafka.workloads.worker.arguments import PRODUCE, WorkerArguments

Trouble = Callable[["MemoryCluster"], object]
OFFSETS = "__consumer_offsets"
TOPIC_ID = base64.urlsafe_b64encode(bytes(range(16))).decode().rstrip("=")


class MemoryNode:
    """CanKill, CanStop, CanPause and HasLog."""

    def __init__(self, cluster: MemoryCluster, spec: NodeSpec) -> None:
        self.spec, self._cluster = spec, cluster
        self.running, self.frozen, self.starts, self.log = True, False, 1, "INFO started\n"
        self.exit_code = 137  # of its last end

    def state(self) -> NodeState:
        self._cluster.act("state")
        return NodeState(
            running=self.running,
            exit_code=None if self.running else self.exit_code,
            started_at=f"start {self.starts}",
            frozen=self.frozen,
        )

    @property
    def address(self) -> str:
        return "127.0.0.1"

    def knock(
        self,
        port: int,
        *,
        at: str | None = None,
        speak: bool = False,
        within_s: float = 1.0,
        until: Knock | None = None,
    ) -> Knock:
        self._cluster.act("knock")
        if self.frozen and speak:
            return Knock.MUTE
        return Knock.ANSWERED if self.running else Knock.REFUSED

    def tail(self, lines: int) -> str:
        self._cluster.act("tail")
        return self.log

    def kill(self) -> Deed:
        self._cluster.act("kill")
        self.running, self.exit_code = False, 137
        return Deed(what="SIGKILL", means="memory", acted_ns=time.monotonic_ns())

    def terminate(self) -> Deed:
        self._cluster.act("terminate node")
        self.running, self.exit_code = False, 143
        return Deed(what="SIGTERM", means="memory", acted_ns=time.monotonic_ns())

    def pause(self) -> Deed:
        self._cluster.act("pause")
        self.frozen = True
        return Deed(what="pause", means="memory", acted_ns=time.monotonic_ns())

    def resume(self) -> Deed:
        self._cluster.act("resume")
        self.frozen = False
        return Deed(what="resumption", means="memory", acted_ns=time.monotonic_ns())

    def start(self, *, within_s: float) -> Deed:
        self._cluster.act("start")
        if not self.running:
            self.running, self.starts = True, self.starts + 1
        return Deed(what="start", means="memory", acted_ns=time.monotonic_ns())


@dataclass
class MemoryProcess:
    """ClientProcess: says that load flows until it is asked to end, or ends by itself as `end` says."""

    cluster: MemoryCluster
    name: str
    worker: WorkerArguments | None = None  # None: the observer
    address: str = ""
    end: ExitStatus | None = None
    deaf: bool = False  # to SIGTERM
    silent: bool = False
    signals: list[str] = field(default_factory=list)

    def latest(self) -> Mapping[str, Any] | None:
        self.cluster.act("latest")
        if self.worker is None:
            topics = self.cluster.topics.items()
            return {"leaders": {f"{name}/{number}": 1 for name, spec in topics for number in range(spec.partitions)}}
        if self.silent:
            return {}
        places = [f"{self.worker.topic}/{number}" for number in range(self.worker.partitions)]
        if self.worker.role == PRODUCE:
            now_ns = time.monotonic_ns()
            return {
                "at_ns": now_ns,
                "offered": 5,
                "acknowledged": 5,
                "acked_per_partition": dict.fromkeys(places, 5),
                "last_ack_ns": dict.fromkeys(places, now_ns),
            }
        return {"read": 5, "positions": dict.fromkeys(places, 5)}

    def exited(self) -> ExitStatus | None:
        self.cluster.act("exited")
        return self.end

    def terminate(self) -> None:
        self.cluster.act("terminate")
        self.signals.append("TERM")
        if not self.deaf:
            self.end = self.end or ExitStatus(code=0, signal=None)

    def kill(self) -> None:
        self.cluster.act("client kill")
        self.signals.append("KILL")
        self.end = self.end or ExitStatus(code=None, signal=9)

    def wait(self, *, within_s: float) -> ExitStatus:
        self.cluster.act("wait")
        assert self.end is not None
        return self.end

    def collect(self, into: Path) -> None:
        self.cluster.act("collect")
        into.mkdir(parents=True, exist_ok=True)
        (into / "stderr.log").write_text("")


class MemoryCluster:
    """Cluster and CanHostClients."""

    def __init__(self, spec: ClusterSpec, trouble: Mapping[str, Trouble]) -> None:
        self.spec, self._trouble = spec, trouble
        self.acts: list[str] = []
        self.nodes = {member.node_id: MemoryNode(self, member) for member in spec.members}
        self.versions = {"engine": "memory"}
        self.credentials = make_credentials(spec.security)
        self.allowed: dict[User, list[Right]] = {}
        self.topics: dict[str, TopicSpec] = {}
        self.clients: dict[str, MemoryProcess] = {}
        self.told: dict[str, Mapping[str, str]] = {}  # each client's environment
        self.log_end = 0  # of every partition
        self.fenced: set[int] = set()
        self.led: dict[tuple[str, int], tuple[int, int]] = {}  # (leader, epoch), where it is not the usual one
        self.controller = spec.members[-1].node_id
        self._lock = threading.Lock()

    def act(self, what: str) -> None:
        with self._lock:
            self.acts.append(what)
        if what in self._trouble:
            self._trouble[what](self)

    def times(self, what: str) -> int:
        return self.acts.count(what)

    def host_addresses(self) -> Mapping[int, Address]:
        return {broker: Address("127.0.0.1", 1) for broker in self.spec.broker_ids}

    client_addresses = controller_addresses = host_addresses

    def security(self, user: User) -> Security:
        return self.credentials.security(user)

    def restore(self) -> None:
        self.act("restore")
        for node in self.nodes.values():
            node.start(within_s=1)

    def stop_kafka(self) -> tuple[int, ...]:
        self.act("stop_kafka")
        return ()

    def gather_logs(self, into: Path) -> None:
        self.act("gather_logs")
        into.mkdir(parents=True, exist_ok=True)

    def launch(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None, *, package: Path | None = None
    ) -> MemoryProcess:
        self.act("launch")
        worker = None if name in ("observer", "users") else WorkerArguments.from_json(argv[-1])
        self.clients[name] = MemoryProcess(self, name, worker)
        self.told[name] = dict(env or {})
        if name == "users":
            self.clients[name].end = ExitStatus(code=0, signal=None)
            self.act("users")
        return self.clients[name]


class MemoryViews:
    """What Views offers: every broker that runs answers, and all agree."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self.addresses = cluster.host_addresses()

    def ask_all(self, topics: Sequence[str] | None = None) -> list[BrokerView]:
        self._cluster.act("ask_all")
        asked_ns = time.monotonic_ns()
        brokers = self._cluster.spec.broker_ids
        partitions = {
            (name, number): PartitionView(
                topic_id=TOPIC_ID,
                leader=self._cluster.led.get((name, number), (brokers[number % len(brokers)], 0))[0],
                leader_epoch=self._cluster.led.get((name, number), (-1, 0))[1],
                replicas=brokers[: spec.replication_factor],
                isr=brokers[: spec.replication_factor],
            )
            for name, spec in self._cluster.topics.items()
            for number in range(spec.partitions)
        }
        return [
            BrokerView(
                broker=broker,
                reachable=self._cluster.nodes[broker].running,
                applied_offset=100,
                metadata_high_watermark=101,
                controller=self._cluster.controller,
                controller_epoch=1,
                fenced={each: each in self._cluster.fenced for each in brokers},
                partitions=partitions,
                internal=frozenset({OFFSETS}),
                asked_ns=asked_ns,
                answered_ns=time.monotonic_ns(),
            )
            for broker in brokers
        ]

    def coordinator(self, group: str) -> int | None:
        self._cluster.act("coordinator")
        self._cluster.topics.setdefault(OFFSETS, TopicSpec(partitions=1, min_insync_replicas=1))
        return self._cluster.spec.broker_ids[0]

    def transaction_coordinator(self, transactional_id: str) -> int | None:
        return self.coordinator(transactional_id)

    def connect(self, broker: int) -> MemoryLog:
        self._cluster.act("connect")
        return MemoryLog(self._cluster.log_end)


class MemoryLog:
    """A Connection to a leader that says where its logs end, and never answers a FETCH."""

    def __init__(self, end: int) -> None:
        self._end = end

    def __enter__(self) -> MemoryLog:
        return self

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None: ...

    def ask(self, question: asks.Ask[Any]) -> Any:
        if question.api is asks.FETCH:
            raise NoAnswer("silence")
        request = question.request(question.api.versions[-1])
        asked = request.topics[0].partitions
        if question.api is asks.LIST_OFFSETS:
            offset = self._end if asked[0].timestamp == asks.LATEST else 0
            bounds = [SimpleNamespace(partition_index=p.partition_index, offset=offset, error_code=0) for p in asked]
        else:
            bounds = [SimpleNamespace(partition=p.partition, end_offset=self._end, error_code=0) for p in asked]
        return SimpleNamespace(topics=[SimpleNamespace(partitions=bounds)])


class MemoryAdmin:
    """What Admin offers to a run."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster

    def create_topics(self, topics: Mapping[str, TopicSpec], placed: Mapping[str, object]) -> None:
        self._cluster.act("create_topics")
        self._cluster.topics.update(topics)

    def allow(self, user: User, rights: Sequence[Right]) -> None:
        self._cluster.act(f"allow {user}")
        self._cluster.allowed.setdefault(user, []).extend(rights)

    def broker_settings(self, brokers: Sequence[int]) -> dict[int, dict[str, str]]:
        return {broker: {"broker.session.timeout.ms": "100"} for broker in brokers}


@dataclass
class Memory:
    """One run's surroundings. `trouble`: by the name of an act, what is to happen in it."""

    trouble: dict[str, Trouble] = field(default_factory=dict)
    cluster: MemoryCluster | None = None

    @property
    def runtime(self) -> Runtime:
        return Runtime(
            name="memory",
            abilities=(CanKill, CanHostClients),
            prepare=self._prepare,
            views=lambda *_: MemoryViews(self._opened),  # type: ignore[arg-type,return-value]
            admin=lambda *_: MemoryAdmin(self._opened),  # type: ignore[arg-type,return-value]
        )

    @property
    def acts(self) -> list[str]:
        """What happened to the cluster as a whole, in order."""
        whole = ("open", "restore", "stop_kafka", "gather_logs", "remove")
        return [act for act in (self.cluster.acts if self.cluster else []) if act in whole]

    @property
    def _opened(self) -> MemoryCluster:
        assert self.cluster is not None
        return self.cluster

    def _prepare(self, spec: ClusterSpec, note: Callable[[str], None], clock: Clock) -> Callable[..., Any]:
        cluster = MemoryCluster(spec, self.trouble)
        cluster.act("prepare")

        @contextmanager
        def opens(*, run_id: str, clock: Clock, keep: bool) -> Iterator[MemoryCluster]:
            self.cluster = cluster
            cluster.act("open")
            clock.pause(0)  # as between any two steps of opening a real one
            try:
                yield cluster
            finally:
                if not keep:
                    cluster.act("remove")

        return opens
