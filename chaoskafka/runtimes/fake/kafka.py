"""The fake cluster as its clients and its brokers' ports see it: topics, produce, read, groups. Thread-safe.

In: nodes' deaths and starts, topics, payloads. Out: offsets, records, and `Control` for who answers questions about the
cluster. This is also where the lies about messages are told.
"""

from __future__ import annotations

import itertools
import threading
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from chaoskafka.cluster.netrules import Action
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.sights import Partition
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.runtimes.fake import internal
from chaoskafka.runtimes.fake.control import Control, Place
from chaoskafka.runtimes.fake.groups import Group
from chaoskafka.runtimes.fake.lies import VICTIM, Lie
from chaoskafka.runtimes.fake.log import Sender, Stored
from chaoskafka.runtimes.fake.packets import CLIENT, Network
from chaoskafka.runtimes.fake.timers import Timers

SKIPPED = 5  # messages beyond the end that SKIP passes over


class FakeKafka:
    """All brokers and controllers of one cluster."""

    def __init__(self, spec: ClusterSpec, *, timers: Timers, lies: frozenset[Lie]) -> None:
        self.spec = spec
        self.network = Network()
        self._reached: dict[tuple[int | None, int, Plane], bool] = {}  # as the rules of now have it
        self._control = Control(spec, timers, lies, time.monotonic_ns(), self._reaches)
        self._changed = threading.Condition(threading.RLock())
        self._groups: dict[str, Group] = {}
        self._moved: set[tuple[str, Partition]] = set()  # groups that SKIP or REWIND has moved already
        self._producers = 0  # open ones
        self._producer_ids = itertools.count(1000)
        self._hit = False  # whether the message has come that lies are about
        self._claimed: set[Lie] = set()
        self.lines: dict[int, list[str]] = {node.node_id: [] for node in spec.members}  # each node's log, for people

    @contextmanager
    def now(self) -> Iterator[Control]:
        """The state of this instant, for as long as it is held."""
        with self._changed:
            self._control.advance(time.monotonic_ns())
            yield self._control

    @property
    def told(self) -> frozenset[Lie]:
        """The lies that were really told."""
        with self._changed:
            return frozenset(self._control.told)

    def lies(self, lie: Lie) -> bool:
        """Whether this is to be done wrong; then it counts as told."""
        with self._changed:
            return self._control.lying(lie)

    def claim(self, lie: Lie, *, after_a_death: bool = False) -> bool:
        """Whether the caller is the one to do this wrong: the first to ask, and nobody after it."""
        with self._changed:
            if lie in self._claimed or (after_a_death and not self._control.deaths) or not self._control.lying(lie):
                return False
            self._claimed.add(lie)
            return True

    def die(self, node: int) -> None:
        with self.now() as control:
            control.die(node, time.monotonic_ns())
            self.log(node, "ended")

    def retire(self, node: int) -> None:
        """The controller moves all leaders away from a node that is about to end."""
        with self.now() as control:
            control.retire(node, time.monotonic_ns())

    def rise(self, node: int) -> None:
        with self.now() as control:
            control.rise(node, time.monotonic_ns())
            self.log(node, "started")

    def freeze(self, node: int) -> None:
        with self.now() as control:
            control.die(node, time.monotonic_ns())

    def thaw(self, node: int) -> None:
        with self.now() as control:
            control.rise(node, time.monotonic_ns(), anew=False)

    def run_rules(self, node: int, batch: str) -> None:
        """Raises CommandFailed."""
        with self.now() as control:
            self.network.join(address_of(node)).run(batch)
            self._reached.clear()
            control.relinked(time.monotonic_ns())

    def rules(self, node: int) -> str:
        with self._changed:
            return self.network.join(address_of(node)).listing()

    def stops(self, asker: int, asked: int, port: int) -> Action | None:
        """What stands against a connection between nodes; the rules that do count it."""
        with self._changed:
            return self.network.stops(address_of(asker), address_of(asked), port, counting=True)

    def _reaches(self, asker: int | None, asked: int, plane: Plane) -> bool:
        """Rules change seldom, and every look at the cluster asks this of many pairs."""
        way = asker, asked, plane
        if way not in self._reached:
            there = CLIENT if asker is None else address_of(asker)
            self._reached[way] = self.network.stops(there, address_of(asked), plane.port) is None
        return self._reached[way]

    def log(self, node: int, text: str) -> None:
        self.lines[node].append(f"{time.monotonic_ns()} node-{node}: {text}\n")

    def create(self, name: str, spec: TopicSpec, placed: Sequence[Sequence[int]]) -> None:
        """Make a topic, each partition on the brokers that `placed` says, the first of them leading."""
        topic_id, now_ns = uuid.uuid4(), time.monotonic_ns()
        with self.now() as control:
            for number, replicas in enumerate(placed):
                place = Place(
                    topic_id=topic_id,
                    number=number,
                    replicas=tuple(replicas),
                    isr=tuple(replicas),
                    leader=replicas[0],
                    min_insync=spec.min_insync_replicas,
                    led_ns=now_ns,
                )
                control.add((name, number), place, now_ns)

    def coordinator(self, key: str, topic: str = internal.OFFSETS) -> int | None:
        """Who coordinates a group, or transactions, by which topic holds its state; makes that. None: nobody now."""
        with self.now() as control:
            if (topic, 0) not in control.places:
                self.create(topic, *internal.laid_out(control.brokers))
            return self._coordinator(control, key, topic)

    def open_producer(self) -> int:
        """A producer id."""
        with self._changed:
            self._producers += 1
            return next(self._producer_ids)

    def close_producer(self) -> None:
        with self.now() as control:
            self._producers -= 1
            if not self._producers and control.lying(Lie.LOSE_TAIL):
                control.places[_victim(control)].log.drop_last()

    def produce(self, partition: Partition, payloads: Sequence[bytes], sender: Sender) -> list[int] | None:
        """Store one batch in order; returns the offset that each message's acknowledgement names.

        None: not now, and nothing was stored; whoever asks again later may succeed.
        """
        with self.now() as control:
            place = control.places.get(partition)
            if place is None or not control.accepts(place, time.monotonic_ns()):
                return None
            if partition != _victim(control):
                base = place.log.append(payloads, sender, place.epoch)
                offsets = list(range(base, base + len(payloads)))
            elif control.deaths and control.lying(Lie.STALL):
                return None
            else:
                offsets = self._store(control, place, payloads, sender)
            self._changed.notify_all()
            return offsets

    def read(self, partition: Partition, offset: int, count_max: int) -> list[Stored]:
        """For a consumer: records from `offset` on, none while nobody serves them."""
        with self.now() as control:
            place = control.places.get(partition)
            if place is None or not control.serves(place, time.monotonic_ns()):
                return []
            if control.deaths and control.lying(Lie.STARVE):
                return []
            return place.log.read(offset, count_max)

    def wait(self, within_s: float) -> None:
        """Until something was stored, or time is up."""
        with self._changed:
            self._changed.wait(within_s)

    def join(self, group: str, member: str) -> None:
        with self._changed:
            self._groups.setdefault(group, Group()).join(member)

    def leave(self, group: str, member: str) -> None:
        with self._changed:
            self._groups[group].leave(member)

    def change(self, group: str, member: str, topic: str) -> tuple[list[Partition], list[Partition]]:
        """What a member is to give up, and what it may take. Nothing while the group has no coordinator."""
        with self.now() as control:
            if self._coordinator(control, group) is None:
                return [], []
            places = sorted(partition for partition in control.places if partition[0] == topic)
            return self._groups[group].change(member, places)

    def let_go(self, group: str, member: str, places: Sequence[Partition]) -> None:
        with self._changed:
            self._groups[group].let_go(member, places)

    def take(self, group: str, member: str, places: Sequence[Partition], *, earliest: bool) -> dict[Partition, int]:
        """From where the member reads each place now: what was committed, else the start or the end."""
        with self.now() as control:
            its = self._groups[group]
            its.take(member, places)
            return {
                place: its.committed.get(place, 0 if earliest else control.places[place].log.end) for place in places
            }

    def moved(self, group: str, partition: Partition) -> int | None:
        """Where a group reads on from against its will; None: where it was."""
        with self.now() as control:
            if not control.deaths or partition != _victim(control) or (group, partition) in self._moved:
                return None
            self._moved.add((group, partition))
            if control.lying(Lie.SKIP):
                return control.places[partition].log.end + SKIPPED
            return 0 if control.lying(Lie.REWIND) else None

    def commit(self, group: str, positions: Mapping[Partition, int]) -> bool:
        """False: not now."""
        with self.now() as control:
            if self._coordinator(control, group) is None:
                return False
            self._groups[group].committed |= positions
            return True

    def _store(self, control: Control, place: Place, payloads: Sequence[bytes], sender: Sender) -> list[int]:
        """Append, honestly or with a lie about one of the messages."""
        base, count = place.log.end, len(payloads)
        told = list(range(base, base + count))
        stored: list[bytes | None] = list(payloads)
        if base == 0 and control.lying(Lie.LOSE_HEAD):
            stored[0] = None
        hit = VICTIM - base
        if self._hit or not 0 <= hit < count:
            place.log.append(stored, sender, place.epoch)
            return told
        self._hit = True
        if control.lying(Lie.LOSE_MIDDLE):
            stored[hit] = None
        if control.lying(Lie.CORRUPT):
            stored[hit] = payloads[hit][:-1] + bytes([payloads[hit][-1] ^ 1])
        if (elsewhere := _misplaced(control)) is not None:
            stored[hit] = None
            elsewhere.log.append([payloads[hit]], Sender(), elsewhere.epoch)
        if control.lying(Lie.OVERWRITE):
            del stored[hit]
            told[hit + 1 :] = [offset - 1 for offset in told[hit + 1 :]]
        if control.lying(Lie.MISNAME):
            told[hit] += 1
        place.log.append(stored, sender, place.epoch)
        if control.lying(Lie.STORE_TWICE):
            place.log.append(stored, sender, place.epoch)
        return told

    def _coordinator(self, control: Control, key: str, topic: str = internal.OFFSETS) -> int | None:
        place = control.places.get((topic, zlib.crc32(key.encode()) % internal.PARTITIONS))
        if place is None or not control.serves(place, time.monotonic_ns()):
            return None
        return place.leader


def address_of(node: int) -> str:
    """Of a node on the fake's own network, where no real packet goes."""
    return f"10.{node >> 16 & 255}.{node >> 8 & 255}.{node & 255}"


def _victim(control: Control) -> Partition:
    """The partition that lies are about: the first topic's first."""
    return next(iter(control.places))


def _misplaced(control: Control) -> Place | None:
    """Where the message lands that is to lie elsewhere."""
    topic, number = _victim(control)
    others = {
        Lie.MISPLACE_PARTITION: [at for at in control.places if at[0] == topic and at[1] != number],
        Lie.MISPLACE_TOPIC: [at for at in control.places if at[0] not in (topic, *internal.TOPICS)],
    }
    found = [places[0] for lie, places in others.items() if places and control.lying(lie)]
    return control.places[found[0]] if found else None
