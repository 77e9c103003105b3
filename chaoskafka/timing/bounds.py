"""What the effective settings imply for a fault: how soon the controllers must notice, and whether at all.

In: a fault's word and parameters, whom it hit, the settings of brokers, controllers and clients, Kafka's version. Out:
intervals in seconds after the deed, and the setting that dominates each. Pure. Sources: BrokerHeartbeatTracker and
QuorumController (the lease S, kept by heartbeats every H, is looked at every S/8), KafkaRaftClient (timers of fetch and
election, KIP-996), ReplicaManager (a replica that lags for L is dropped, looked at every L/2), of Kafka 4.0 to 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chaoskafka.history.events import FaultWindow
from chaoskafka.history.header import RunHeader
from chaoskafka.timing.times import Interval

SESSION, HEARTBEAT = "broker.session.timeout.ms", "broker.heartbeat.interval.ms"
FETCH, ELECTION = "controller.quorum.fetch.timeout.ms", "controller.quorum.election.timeout.ms"
LAG, IDLE = "replica.lag.time.max.ms", "metadata.max.idle.interval.ms"
LINGER = "controller.quorum.append.linger.ms"
SOCKET = "socket.timeout.ms"
SOCKET_DEFAULT_S = 60.0  # librdkafka's
RAFT_FETCH_S = 0.5  # KafkaRaftClient.MAX_FETCH_WAIT_MS: a constant
ROUND_TRIPS_S = 0.1  # commit and propagation beside the linger: 30-50 ms measured on two busy cores
REFRESH_S = 2.5  # librdkafka asks for metadata every second, and drops a fenced broker once: 0-2 s measured
OLD_RAFT = "4.0."  # its brokers learn of a commit with the next data, or when a fetch has waited (KIP-1166)

_DEATHS = frozenset({"kill", "crash_loop", "power_off", "pause"})
STOPS = frozenset({"stop", "restart", "rolling_restart"})
_NOTICED = _DEATHS | STOPS | {"isolate", "partition"}
_SILENT = frozenset({"pause", "power_off", "isolate", "partition"})  # no reset tells a client
_PLANES = ("controllers", "replication")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """An interval, and the setting that makes it as long as it is. `whole` None: the settings do not say."""

    whole: Interval | None
    dominated_by: str | None
    why: str | None = None  # there is none

    @classmethod
    def none(cls, why: str) -> Bound:
        return cls(whole=None, dominated_by=None, why=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A fault as the bounds see it."""

    word: str
    parameters: Mapping[str, Any]  # as the plan has them
    brokers: frozenset[int]  # that it hit
    controllers: frozenset[int]
    active: int | None  # the controller that was active before
    voters: int  # how many controllers there are
    alone: bool  # no other fault was in force

    @property
    def hits_active(self) -> bool:
        return self.active in self.controllers

    @property
    def planes(self) -> frozenset[str]:
        """What a cut stops of the planes between nodes."""
        if self.word == "cut_clients":
            return frozenset()
        return frozenset(self.parameters.get("planes") or _PLANES)

    @property
    def loses_quorum(self) -> bool:
        """Fewer controllers are left than decide."""
        reached = self.word not in STOPS and "controllers" in self.planes
        return reached and 2 * (self.voters - len(self.controllers)) <= self.voters


@dataclass(frozen=True, slots=True)
class Timers:
    """The settings that everything follows from, in seconds; the slowest node's, where they differ."""

    settings: Mapping[str, Mapping[str, str]]  # per node
    clients: Mapping[str, str]
    kafka: str

    def has(self, *keys: str) -> bool:
        return all(any(key in of for of in self.settings.values()) for key in keys)

    def s(self, key: str) -> float:
        """Raises ValueError when no node told it."""
        return max(float(of[key]) for of in self.settings.values() if key in of) / 1000

    @property
    def socket_s(self) -> float:
        return float(self.clients.get(SOCKET, SOCKET_DEFAULT_S * 1000)) / 1000


def hit_of(header: RunHeader, fault: FaultWindow, *, active: int | None, alone: bool) -> Hit:
    """What a fault was, from the plan and from whom it really hit."""
    roles = {int(node): of for node, of in header.nodes.items()}
    return Hit(
        word=fault.word,
        parameters=_parameters(header.plan, fault.index),
        brokers=frozenset(node for node in fault.targets if "broker" in roles.get(node, ())),
        controllers=frozenset(node for node in fault.targets if "controller" in roles.get(node, ())),
        active=active,
        voters=sum("controller" in of for of in roles.values()),
        alone=alone,
    )


def may_elect(hit: Hit) -> bool:
    """Whether the fault may cause an election at all: the controllers lose brokers by it, or are asked for one."""
    if hit.word == "cut_clients":
        return False
    if hit.word == "partition":
        return "controllers" in hit.planes
    return bool(hit.brokers) or hit.word == "move_leader"


def detection(hit: Hit, timers: Timers) -> Bound:
    """From the deed to the controllers' decision that a hit broker is out; the election is the same write."""
    if why := _unbounded(hit):
        return Bound.none(why)
    needed = (HEARTBEAT,) if hit.word in STOPS else (SESSION, HEARTBEAT)
    if not timers.has(*needed):
        return Bound.none(f"{' or '.join(needed)} is not known")
    if hit.word in STOPS:
        return Bound(whole=Interval(lo_s=0.0, hi_s=timers.s(HEARTBEAT)), dominated_by=HEARTBEAT)
    return _lease(hit, timers)


def _unbounded(hit: Hit) -> str | None:
    """Why the settings do not say when the controllers notice."""
    shaped = hit.parameters.get("against") or hit.parameters.get("shape", "rest") != "rest"
    reasons = {
        "who was the active controller is not known": hit.active is None and bool(hit.controllers),
        "another fault was in force too": not hit.alone,
        "it is not to be noticed: no election follows": not may_elect(hit),
        "no majority of controllers is left to decide": hit.loses_quorum,
        "its nodes are stopped one after the other, and times count from the first": hit.word == "rolling_restart",
        f"{hit.word} is no loss that a lease would end by": hit.word not in _NOTICED,
        "who is parted from the active controller is not worked out for this shape": hit.word == "partition" and shaped,
    }
    return next((why for why, holds in reasons.items() if holds), None)


def _lease(hit: Hit, timers: Timers) -> Bound:
    session_s, beat_s = timers.s(SESSION), timers.s(HEARTBEAT)
    if hit.hits_active:
        quorum = controller(hit, timers)
        if quorum.whole is None:
            return quorum
        # The new controller gives every broker a fresh lease when it takes over.
        lo_s, hi_s = quorum.whole.lo_s + session_s, quorum.whole.hi_s + session_s * 9 / 8
    elif hit.word in ("isolate", "partition") and hit.parameters.get("ways") == "in":
        lo_s, hi_s = session_s, session_s + beat_s + session_s / 8  # its next heartbeat still arrives
    else:
        lo_s, hi_s = session_s - beat_s, session_s * 9 / 8
    return Bound(whole=Interval(lo_s=max(0.0, lo_s), hi_s=hi_s), dominated_by=SESSION)


def controller(hit: Hit, timers: Timers) -> Bound:
    """From the deed to the next active controller, one lost round of votes included, as with two survivors is usual."""
    if not hit.hits_active:
        return Bound.none("the active controller was not hit")
    if hit.loses_quorum:
        return Bound.none("no majority of controllers is left to elect one")
    if hit.word in STOPS:
        return Bound.none("a controller that is asked to stop hands over once its broker has ended, whenever that is")
    if not timers.has(FETCH, ELECTION):
        return Bound.none(f"{FETCH} or {ELECTION} is not known")
    fetch_s, vote_s = timers.s(FETCH), 2 * timers.s(ELECTION)  # the timeout is drawn from once to twice its setting
    whole = Interval(lo_s=max(0.0, fetch_s - RAFT_FETCH_S), hi_s=fetch_s + vote_s + fetch_s)
    return Bound(whole=whole, dominated_by=FETCH)


def propagation(timers: Timers) -> Bound:
    """From a decision to a live broker's having applied it."""
    if not timers.has(LINGER):
        return Bound.none(f"{LINGER} is not known")
    hi_s, dominated_by = timers.s(LINGER) + ROUND_TRIPS_S, LINGER
    if timers.kafka.startswith(OLD_RAFT):
        idle_s = timers.s(IDLE) if timers.has(IDLE) else RAFT_FETCH_S
        hi_s, dominated_by = hi_s + min(RAFT_FETCH_S, idle_s), IDLE
    return Bound(whole=Interval(lo_s=0.0, hi_s=hi_s), dominated_by=dominated_by)


def shrink(hit: Hit, timers: Timers) -> Bound:
    """From the deed to the in-sync set without who cannot fetch, where brokers are parted from each other only."""
    if hit.word != "partition" or hit.planes != {"replication"}:
        return Bound.none("the leader does not drop a replica: the controllers do")
    if not timers.has(LAG):
        return Bound.none(f"{LAG} is not known")
    return Bound(whole=Interval(lo_s=timers.s(LAG), hi_s=1.5 * timers.s(LAG)), dominated_by=LAG)


def redirection(hit: Hit, timers: Timers, elected: Interval) -> Bound:
    """From an election to a client's first success in its epoch. `elected`: seconds after the deed."""
    if hit.word not in _SILENT:
        return Bound(whole=Interval(lo_s=0.0, hi_s=REFRESH_S), dominated_by="librdkafka's refresh of metadata")
    waits_s = max(0.0, timers.socket_s - elected.lo_s)  # silence is noticed by the client's own timer alone
    dominated_by = SOCKET if waits_s > 0 else "librdkafka's refresh of metadata"
    return Bound(whole=Interval(lo_s=0.0, hi_s=waits_s + REFRESH_S), dominated_by=dominated_by)


def _parameters(plan: Sequence[Mapping[str, Any]], index: int) -> Mapping[str, Any]:
    """Of the fault with that number. Plans of old numbered them by their order."""
    leaves = list(_leaves(plan))
    numbered = [leaf for leaf in leaves if leaf.get("fault") == index]
    if numbered:
        return numbered[0]
    return leaves[index] if index < len(leaves) and "fault" not in leaves[index] else {}


def _leaves(plan: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for item in plan:
        if isinstance(item, Mapping):
            if "steps" in item:
                yield from _leaves(item["steps"])
            else:
                yield item
