"""Waits until a cluster has formed, and tells which node keeps it from forming, with that node's last words.

In: a cluster whose processes were started, and views of its brokers. Out: its readiness; or an error that names each
node that is to blame, its state and what its log says. A process that has ended is noticed within seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from chaoskafka.clock import NS_PER_S, Clock
from chaoskafka.cluster import ready
from chaoskafka.cluster.abilities import Cluster, HasLog, Node, NodeState
from chaoskafka.cluster.last_words import has_trouble, last_words
from chaoskafka.cluster.ready import Readiness
from chaoskafka.cluster.views import Views
from chaoskafka.errors import ChaosKafkaError, EnvironmentFailure, WaitTimeout

FORM_S = 90.0  # 5-9 s measured for 3 to 6 nodes on two cores; ten times that is an environment at fault
LOOK_EVERY_S = 1.0  # one request to the runtime for each node; a node that dies while it starts takes 3-8 s to do so
LOG_LINES = 200  # of a node's log that are searched for errors: a start writes some 150
TOLD_MAX = 3  # nodes whose words are shown; the others are named


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A node whose process has ended, and its last words."""

    node: Node
    state: NodeState
    words: tuple[str, ...]

    def __str__(self) -> str:
        why = "killed for want of memory, exit code" if self.state.out_of_memory else "exit code"
        return f"Kafka on {self.node.spec.name} ended: {why} {self.state.exit_code}"


def wait_formed(cluster: Cluster, views: Views, *, within_s: float, clock: Clock) -> Readiness:
    """Wait until the cluster has formed. Blocks.

    Raises EnvironmentFailure as soon as a node's process is seen to have ended: before the first fault nobody but Kafka
    itself, its settings or the machine can be the cause. Raises WaitTimeout when time is up, and what the clock raises.
    """
    try:
        return ready.wait_formed(
            views, cluster.spec, within_s=within_s, clock=clock, after_each=none_ended(cluster, clock)
        )
    except WaitTimeout as late:
        logs = {node.spec.name: _log_of(node) for node in cluster.nodes.values()}
        troubled = [name for name, log in logs.items() if has_trouble(log)] or list(logs)
        for name in troubled[:TOLD_MAX]:
            late.add_note(_quoted(name, last_words(logs[name])))
        raise


def none_ended(cluster: Cluster, clock: Clock) -> Callable[[], None]:
    """What to call after each reading of a wait: it raises EnvironmentFailure once a node's process has ended."""
    looked_ns: int | None = None

    def look() -> None:
        nonlocal looked_ns
        if looked_ns is None or clock.now_ns() - looked_ns >= LOOK_EVERY_S * NS_PER_S:
            looked_ns = clock.now_ns()
            if ended := ended_nodes(cluster):
                raise EnvironmentFailure(_told(ended), mend=_mend(cluster, ended))

    return look


@contextmanager
def ends_told(cluster: Cluster) -> Iterator[None]:
    """An error that leaves the body says which nodes' processes have ended by then."""
    try:
        yield
    except ChaosKafkaError as error:
        with suppress(ChaosKafkaError):  # a runtime that answers no longer is not what the error is about
            if ended := ended_nodes(cluster):
                error.add_note(_told(ended))
        raise


def ended_nodes(cluster: Cluster) -> tuple[Ended, ...]:
    """Every node whose process has ended. Blocks for a question to each. Raises EnvironmentFailure."""
    states = [(node, node.state()) for node in cluster.nodes.values()]
    gone = [(node, state) for node, state in states if not state.running]
    return tuple(Ended(node=node, state=state, words=last_words(_log_of(node))) for node, state in gone)


def _log_of(node: Node) -> str:
    try:
        return node.tail(LOG_LINES) if isinstance(node, HasLog) else ""
    except ChaosKafkaError as failed:
        return f"it cannot be read: {failed}"


def _told(ended: Sequence[Ended]) -> str:
    return "\n".join([*map(str, ended), *(_quoted(one.node.spec.name, one.words) for one in ended[:TOLD_MAX])])


def _quoted(name: str, words: Sequence[str]) -> str:
    return "\n".join([f"from the log of {name}:", *(f"  {word}" for word in words or ("nothing",))])


def _mend(cluster: Cluster, ended: Sequence[Ended]) -> str | None:
    spec = cluster.spec
    if any(one.state.out_of_memory for one in ended):
        return f"give each node more memory: cluster.memory_mib is {spec.memory_mib}"
    if spec.config:
        return f"correct cluster.config, if one of these is meant: {', '.join(sorted(spec.config))}"
    return None
