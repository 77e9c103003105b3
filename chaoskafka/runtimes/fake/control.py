"""Who lives, who leads: what Kafka's controllers decide, as a function of deaths, starts and the time that has passed.

In: kills and starts of nodes, and an instant with each question. Out: leaders, epochs, in-sync replicas, fences, the
active controller and the metadata log. Nothing runs in the background: whoever asks brings the state up to
now first. Every live broker knows each change at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chaoskafka.clock import NS_PER_S
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.sights import NO_LEADER, Partition
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.runtimes.fake.lies import Lie
from chaoskafka.runtimes.fake.log import PartitionLog
from chaoskafka.runtimes.fake.metadata_log import MetadataLog
from chaoskafka.runtimes.fake.timers import Timers


@dataclass(slots=True, kw_only=True)
class Place:
    """One partition: who has it, who leads it, and what lies in it."""

    topic_id: uuid.UUID
    number: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    epoch: int = 0
    min_insync: int
    led_ns: int  # since when this leader leads
    log: PartitionLog = field(default_factory=PartitionLog)
    behind_ns: dict[int, int] = field(default_factory=dict)  # since when a follower could not fetch


@dataclass(slots=True)
class _Life:
    """One node: whether its process lives, and what the controller knows of it."""

    up: bool = True  # and not frozen
    attached: bool = True  # and reaches the controller
    changed_ns: int = 0  # of the latest death, start, loss or return of the controller
    fenced: bool = True
    unfenced_ns: int = 0
    registered: bool = True  # false: a new process that the controller has not heard of yet


class Reach(Protocol):
    """Who can connect to whom."""

    def __call__(self, asker: int | None, asked: int, plane: Plane) -> bool:
        """None: a client."""
        ...


class Control:
    """Not for several threads at once. `advance` first, then read."""

    def __init__(self, spec: ClusterSpec, timers: Timers, lies: frozenset[Lie], now_ns: int, reach: Reach) -> None:
        self.timers, self._lies, self._reach = timers, lies, reach
        self.told: set[Lie] = set()  # the lies that were really told
        self.voters = [node.node_id for node in spec.members if node.is_controller]
        self._lives = {node.node_id: _Life(changed_ns=now_ns) for node in spec.members}
        self.brokers = spec.broker_ids
        self.places: dict[Partition, Place] = {}
        self.controller: int | None = None
        self._ruled_ns = now_ns  # since when this controller rules
        self._relinked_ns = now_ns  # when the network last changed
        self._unruled_ns = now_ns  # since when there has been a majority and no controller
        self.metadata = MetadataLog()
        for broker in self.brokers:
            self.metadata.register(broker, 0)
        self.deaths = 0
        self._whole_at: int | None = None  # the end of the metadata log as of which nothing changes by itself

    def lying(self, lie: Lie) -> bool:
        """Whether this is to be done wrong; then it counts as told."""
        if lie in self._lies:
            self.told.add(lie)
            return True
        return False

    def is_up(self, node: int) -> bool:
        return self._lives[node].up

    @property
    def state(self) -> tuple[object, ...]:
        """Equal as long as nothing has changed of what brokers tell about the cluster."""
        return self.metadata.end, self.controller

    @property
    def fenced(self) -> Mapping[int, bool]:
        return {broker: self._lives[broker].fenced for broker in self.brokers}

    def add(self, partition: Partition, place: Place, now_ns: int) -> None:
        self.places[partition] = place
        self.metadata.place(*partition, place)
        self.metadata.flush(now_ns)

    def die(self, node: int, now_ns: int) -> None:
        """It is gone, for good or for a while."""
        self._whole_at = None
        life = self._lives[node]
        life.up, life.changed_ns = False, now_ns
        self.deaths += 1
        if node == self.controller:
            self.controller, self._unruled_ns = None, now_ns

    def retire(self, node: int, now_ns: int) -> None:
        """Controlled shutdown: a broker is fenced before it ends, if there is a controller to ask."""
        if node in self.brokers and self.controller is not None and not self._lives[node].fenced:
            self.metadata.change(node, stopping=True)
            self._fence(node, now_ns)
            self.metadata.flush(now_ns)

    def rise(self, node: int, now_ns: int, *, anew: bool = True) -> None:
        """`anew`: as a new process, not as the one that was away."""
        self._whole_at = None
        life = self._lives[node]
        life.up, life.changed_ns, life.registered = True, now_ns, not anew
        if self.controller is None:
            self._unruled_ns = now_ns

    def elect_preferred(self, place: Place, now_ns: int) -> bool:
        """Let the first replica lead, if it is in sync and not fenced."""
        preferred = place.replicas[0]
        if self.controller is None or preferred not in place.isr or self._lives[preferred].fenced:
            return False
        self._lead(place, preferred, now_ns)
        self.metadata.flush(now_ns)
        return True

    def reassign(self, place: Place, replicas: tuple[int, ...], now_ns: int) -> None:
        """New replicas are in sync at once, as nothing is copied here; leadership moves only if its holder goes."""
        kept = [node for node in replicas if node in place.isr or not self._lives[node].fenced]
        place.replicas, place.isr = replicas, tuple(kept)
        self.metadata.move(place.number, place, replicas=True)
        if place.leader not in replicas:
            self._elect(place, now_ns)
        self.metadata.flush(now_ns)

    def serves(self, place: Place, now_ns: int) -> bool:
        """Whether the leader lives and clients reach it."""
        if place.leader == NO_LEADER or not self.is_up(place.leader):
            return False
        if not self._reach(None, place.leader, Plane.CLIENTS):
            return False
        late = self.deaths > 0 and place.epoch > 0 and now_ns - place.led_ns < self.timers.late_s * NS_PER_S
        return not (late and self.lying(Lie.SERVE_LATE))

    def accepts(self, place: Place, now_ns: int) -> bool:
        """Whether acks=all is answered: enough replicas in sync, and all of those fetching."""
        in_sync = len(place.isr) >= place.min_insync and all(self._fetches(node, place) for node in place.isr)
        return in_sync and self.serves(place, now_ns)

    def _fetches(self, node: int, place: Place) -> bool:
        reaches = node == place.leader or self._reach(node, place.leader, Plane.REPLICATION)
        return self.is_up(node) and reaches

    def advance(self, now_ns: int) -> None:
        """Do what is due by now."""
        if self._whole_at == self.metadata.end:
            self._say_if_idle(now_ns)
            self._whole_at = self.metadata.end
            return
        self._rule(now_ns)
        if self.controller is None:
            return
        for broker in self.brokers:
            life = self._lives[broker]
            attached = life.up and self._reaches_controller(broker)
            if attached != life.attached:
                life.attached, life.changed_ns = attached, max(life.changed_ns, self._relinked_ns)
            since_ns = now_ns - max(life.changed_ns, self._ruled_ns)
            if attached and not life.registered:
                life.registered = True
                self.metadata.register(broker, self.metadata.end)
                self._fence(broker, now_ns)  # a new process takes the place of its dead one
            if not attached and not life.fenced and since_ns >= self._session_ns():
                self._fence(broker, now_ns)
            if attached and life.fenced and since_ns >= self.timers.boot_s * NS_PER_S:
                self._unfence(broker, now_ns)
        self._fall_behind(now_ns)
        self._catch_up(now_ns)
        self._say_if_idle(now_ns)
        self._whole_at = self.metadata.end if self._is_whole() else None

    def _say_if_idle(self, now_ns: int) -> None:
        if now_ns - self.metadata.stored_ns >= self.timers.idle_s * NS_PER_S:
            self.metadata.idle()
        self.metadata.flush(now_ns)

    def _is_whole(self) -> bool:
        """Whether all live, are known to the controller, and fetch: then only an act from outside changes anything."""
        lives = (
            node.up and ((node.attached and node.registered and not node.fenced) or at not in self.brokers)
            for at, node in self._lives.items()
        )
        return all(lives) and all(
            len(place.isr) == len(place.replicas) and all(self._fetches(node, place) for node in place.replicas)
            for place in self.places.values()
        )

    def relinked(self, now_ns: int) -> None:
        """Somebody reaches somebody no more, or again."""
        self._whole_at = None
        self._relinked_ns = now_ns
        self.deaths += 1

    def _reaches_controller(self, broker: int) -> bool:
        assert self.controller is not None
        return broker == self.controller or self._reach(broker, self.controller, Plane.CONTROLLER)

    def _session_ns(self) -> float:
        late_s = self.timers.late_s if self.lying(Lie.ELECT_LATE) else 0.0
        return (self.timers.session_s + late_s) * NS_PER_S

    def _rule(self, now_ns: int) -> None:
        fit = [node for node in self.voters if self._has_majority(node)]
        if self.controller is not None and self.controller not in fit:
            self.controller, self._unruled_ns = None, max(self._relinked_ns, self._unruled_ns)
        if fit and self.controller is None and now_ns - self._unruled_ns >= self.timers.election_s * NS_PER_S:
            self.controller, self._ruled_ns = fit[-1], now_ns
            self.metadata.lead(self.controller, now_ns)

    def _has_majority(self, voter: int) -> bool:
        """Whether a voter lives and is heard by more than half of all."""
        heard = [node for node in self.voters if self.is_up(node) and self._hears(node, voter)]
        return self.is_up(voter) and len(heard) > len(self.voters) // 2

    def _hears(self, node: int, voter: int) -> bool:
        return node == voter or self._reach(node, voter, Plane.CONTROLLER)

    def _fence(self, broker: int, now_ns: int) -> None:
        self._lives[broker].fenced = True
        for place in self._of(broker):
            if broker in place.isr and len(place.isr) > 1:
                place.isr = tuple(node for node in place.isr if node != broker)
                self.metadata.move(place.number, place)
            if place.leader == broker:
                self._elect(place, now_ns)
        self.metadata.change(broker, fenced=True)  # the last of them, as Kafka has it

    def _unfence(self, broker: int, now_ns: int) -> None:
        life = self._lives[broker]
        life.fenced, life.unfenced_ns = False, now_ns
        self.metadata.change(broker, fenced=False)
        for place in self._of(broker):
            if place.leader == NO_LEADER:
                self._elect(place, now_ns)

    def _elect(self, place: Place, now_ns: int) -> None:
        """The first replica, in the order of preference, that is in sync and not fenced; nobody if there is none."""
        fit = [node for node in place.replicas if node in place.isr and not self._lives[node].fenced]
        self._lead(place, fit[0] if fit else NO_LEADER, now_ns)

    def _lead(self, place: Place, leader: int, now_ns: int) -> None:
        if leader != place.leader:
            place.leader, place.epoch, place.led_ns = leader, place.epoch + 1, now_ns
            self.metadata.move(place.number, place, leader=True)

    def _fall_behind(self, now_ns: int) -> None:
        """A leader that reaches the controller tells it of followers that do not fetch."""
        for place in self.places.values():
            if place.leader == NO_LEADER or not self._lives[place.leader].attached:
                continue
            for node in [node for node in place.isr if node != place.leader]:
                if self._fetches(node, place):
                    place.behind_ns.pop(node, None)
                elif now_ns - place.behind_ns.setdefault(node, now_ns) >= self.timers.lag_s * NS_PER_S:
                    del place.behind_ns[node]
                    place.isr = tuple(other for other in place.isr if other != node)
                    self.metadata.move(place.number, place)

    def _catch_up(self, now_ns: int) -> None:
        for place in self.places.values():
            absent = [node for node in self._absent(place) if self._has_caught_up(node, now_ns)]
            back = [node for node in absent if self._fetches(node, place)]
            if back and self.serves(place, now_ns) and not self.lying(Lie.STAY_BEHIND):
                place.isr = (*place.isr, *back)
                self.metadata.move(place.number, place)

    def _absent(self, place: Place) -> Sequence[int]:
        return [node for node in place.replicas if node not in place.isr]

    def _has_caught_up(self, node: int, now_ns: int) -> bool:
        life = self._lives[node]
        return life.up and not life.fenced and now_ns - life.unfenced_ns >= self.timers.catch_up_s * NS_PER_S

    def _of(self, broker: int) -> Iterator[Place]:
        return (place for place in self.places.values() if broker in place.replicas)
