"""Who lives, who leads: what Kafka's controllers decide, as a function of deaths, starts and the time that has passed.

In: kills and starts of nodes, and an instant with each question. Out: leaders, epochs, in-sync replicas, fences, the
active controller and how long the metadata log is. Nothing runs in the background: whoever asks brings the state up to
now first. Every live broker knows each change at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chaoskafka.clock import NS_PER_S
from chaoskafka.cluster.sights import NO_LEADER, Partition
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.runtimes.fake.lies import Lie
from chaoskafka.runtimes.fake.log import PartitionLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Timers:
    """How long things take in a fake cluster: short, as nothing is learnt from waiting. Seconds."""

    session_s: float = 0.05  # from a death to the fence (broker.session.timeout.ms)
    election_s: float = 0.02  # from the death of the active controller to the next one
    boot_s: float = 0.02  # from a start to the end of the fence
    catch_up_s: float = 0.02  # from there to all in-sync sets
    late_s: float = 0.6  # what ELECT_LATE and SERVE_LATE add


@dataclass(slots=True, kw_only=True)
class Place:
    """One partition: who has it, who leads it, and what lies in it."""

    topic_id: uuid.UUID
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    epoch: int = 0
    min_insync: int
    led_ns: int  # since when this leader leads
    log: PartitionLog = field(default_factory=PartitionLog)


@dataclass(slots=True)
class _Life:
    """One node: whether its process lives, and what the controller knows of it."""

    up: bool = True  # and not frozen
    changed_ns: int = 0  # of the latest death or start
    fenced: bool = True
    unfenced_ns: int = 0
    registered: bool = True  # false: a new process that the controller has not heard of yet


class Control:
    """Not for several threads at once. `advance` first, then read."""

    def __init__(self, spec: ClusterSpec, timers: Timers, lies: frozenset[Lie], now_ns: int) -> None:
        self.timers, self._lies = timers, lies
        self.told: set[Lie] = set()  # the lies that were really told
        self._voters = [node.node_id for node in spec.members if node.is_controller]
        self._lives = {node.node_id: _Life(changed_ns=now_ns) for node in spec.members}
        self.brokers = spec.broker_ids
        self.places: dict[Partition, Place] = {}
        self.controller: int | None = None
        self.controller_epoch = 0
        self._ruled_ns = now_ns  # since when this controller rules
        self._unruled_ns = now_ns  # since when there has been a majority and no controller
        self.metadata_end = 1
        self.deaths = 0

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
        return self.metadata_end, self.controller

    @property
    def fenced(self) -> Mapping[int, bool]:
        return {broker: self._lives[broker].fenced for broker in self.brokers}

    def add(self, partition: Partition, place: Place) -> None:
        self.places[partition] = place
        self.metadata_end += 1

    def die(self, node: int, now_ns: int) -> None:
        """It is gone, for good or for a while."""
        life = self._lives[node]
        life.up, life.changed_ns = False, now_ns
        self.deaths += 1
        if node == self.controller:
            self.controller, self._unruled_ns = None, now_ns

    def retire(self, node: int, now_ns: int) -> None:
        """Controlled shutdown: a broker is fenced before it ends, if there is a controller to ask."""
        if node in self.brokers and self.controller is not None and not self._lives[node].fenced:
            self._fence(node, now_ns)

    def rise(self, node: int, now_ns: int, *, anew: bool = True) -> None:
        """`anew`: as a new process, not as the one that was away."""
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
        return True

    def reassign(self, place: Place, replicas: tuple[int, ...], now_ns: int) -> None:
        """New replicas are in sync at once, as nothing is copied here; leadership moves only if its holder goes."""
        kept = [node for node in replicas if node in place.isr or not self._lives[node].fenced]
        place.replicas, place.isr = replicas, tuple(kept)
        self.metadata_end += 1
        if place.leader not in replicas:
            self._elect(place, now_ns)

    def serves(self, place: Place, now_ns: int) -> bool:
        """Whether the leader lives and takes requests."""
        if place.leader == NO_LEADER or not self.is_up(place.leader):
            return False
        late = self.deaths > 0 and place.epoch > 0 and now_ns - place.led_ns < self.timers.late_s * NS_PER_S
        return not (late and self.lying(Lie.SERVE_LATE))

    def accepts(self, place: Place, now_ns: int) -> bool:
        """Whether acks=all is answered: enough replicas in sync, and all of those alive."""
        in_sync = len(place.isr) >= place.min_insync and all(map(self.is_up, place.isr))
        return in_sync and self.serves(place, now_ns)

    def advance(self, now_ns: int) -> None:
        """Do what is due by now."""
        self._rule(now_ns)
        if self.controller is None:
            return
        for broker in self.brokers:
            life = self._lives[broker]
            since_ns = now_ns - max(life.changed_ns, self._ruled_ns)
            if life.up and not life.registered:
                life.registered = True
                self._fence(broker, now_ns)  # a new process takes the place of its dead one
            if not life.up and not life.fenced and since_ns >= self._session_ns():
                self._fence(broker, now_ns)
            if life.up and life.fenced and since_ns >= self.timers.boot_s * NS_PER_S:
                self._unfence(broker, now_ns)
        self._catch_up(now_ns)

    def _session_ns(self) -> float:
        late_s = self.timers.late_s if self.lying(Lie.ELECT_LATE) else 0.0
        return (self.timers.session_s + late_s) * NS_PER_S

    def _rule(self, now_ns: int) -> None:
        alive = [node for node in self._voters if self.is_up(node)]
        if len(alive) <= len(self._voters) // 2:
            self.controller = None
        elif self.controller is None and now_ns - self._unruled_ns >= self.timers.election_s * NS_PER_S:
            self.controller, self._ruled_ns = alive[-1], now_ns
            self.controller_epoch += 1
            self.metadata_end += 1

    def _fence(self, broker: int, now_ns: int) -> None:
        self._lives[broker].fenced = True
        self.metadata_end += 1
        for place in self._of(broker):
            if broker in place.isr and len(place.isr) > 1:
                place.isr = tuple(node for node in place.isr if node != broker)
            if place.leader == broker:
                self._elect(place, now_ns)

    def _unfence(self, broker: int, now_ns: int) -> None:
        life = self._lives[broker]
        life.fenced, life.unfenced_ns = False, now_ns
        self.metadata_end += 1
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
            self.metadata_end += 1

    def _catch_up(self, now_ns: int) -> None:
        for place in self.places.values():
            back = [node for node in self._absent(place) if self._has_caught_up(node, now_ns)]
            if back and self.serves(place, now_ns) and not self.lying(Lie.STAY_BEHIND):
                place.isr = (*place.isr, *back)
                self.metadata_end += 1

    def _absent(self, place: Place) -> Sequence[int]:
        return [node for node in place.replicas if node not in place.isr]

    def _has_caught_up(self, node: int, now_ns: int) -> bool:
        life = self._lives[node]
        return life.up and not life.fenced and now_ns - life.unfenced_ns >= self.timers.catch_up_s * NS_PER_S

    def _of(self, broker: int) -> Iterator[Place]:
        return (place for place in self.places.values() if broker in place.replicas)
