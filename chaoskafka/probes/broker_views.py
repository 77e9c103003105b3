"""What each broker shows of itself and of the cluster, watched for changes. One task per broker and API.

In: brokers' addresses and topics. Out: a line for each change, as `history.observations` lays down: it happened after
`lo_ns` (send of the last poll that still showed the old state) and no later than `hi_ns` (receipt of the first that
showed the new one). The first sight of a state has the observer's start as its `lo_ns`. A connection of its own per
API: a broker serves one request of a connection at a time, and DescribeQuorum may wait for a controller.

What a broker knows of leaders and fences is asked for when it has applied more of the metadata log, and not each time:
it answers Metadata and DescribeCluster from the image whose offset ApiVersions tells (KRaftMetadataCache), so while
that offset is the same, so are they.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from chaoskafka.cluster.views import fenced, partitions, quorum
from chaoskafka.cluster.wire import asks, frames
from chaoskafka.cluster.wire.stream import CORRELATION_ID, Stream, prepare
from chaoskafka.errors import NoAnswer

CONNECT_S = 0.25  # a live broker accepts in under 5 ms, even from an overloaded machine in 100
ANSWER_S = (
    1.0  # longer than the stalls of an overloaded machine (0.3 s were seen), so that those are not called silence
)
QUORUM_ANSWER_S = 2.0  # forwarded to the active controller, which may be absent
RETRY_S = 0.05  # between attempts to reach a broker that is away
SAME_MAX = 64  # encodings of one state that are remembered: Metadata names a random broker as controller each time

Fields = Mapping[str, Any]
State = Mapping[Hashable, Fields]  # what is seen, by what it is seen of
Write = Callable[[str, int, int, Fields], None]  # kind, lo_ns, hi_ns, fields


class Opens(Protocol):
    """Opens a connection to one broker: `open_stream` with its address."""

    async def __call__(self, *, connect_s: float, answer_s: float) -> Stream: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """One question that is put to each broker again and again, and how its answers read."""

    kind: str
    ask: asks.Ask[Any]
    read: Callable[[int, Any], State]  # broker, decoded answer
    every_s: float
    answer_s: float = ANSWER_S
    leads: bool = False  # it tells what the broker has applied, and its silence is the broker's silence
    follows: bool = False  # asked when the broker has applied more; `every_s` is then the longest time between


def watches(topics: Sequence[str], *, every_s: float, slow_every_s: float) -> list[Watch]:
    """All that is watched of each broker: its applied metadata, its leaders, its fences, its controller."""
    return [
        Watch(kind="epoch", ask=asks.api_versions(), read=_epoch, every_s=every_s, leads=True),
        Watch(kind="leadership", ask=asks.metadata(topics), read=_leadership, every_s=2 * slow_every_s, follows=True),
        Watch(kind="fenced", ask=asks.describe_cluster(), read=_fenced, every_s=2 * slow_every_s, follows=True),
        Watch(
            kind="controller",
            ask=asks.describe_quorum(),
            read=_controller,
            every_s=slow_every_s,
            answer_s=QUORUM_ANSWER_S,
        ),
    ]


def _epoch(broker: int, answer: asks.ApiVersions) -> State:
    return {broker: {"broker": broker, "offset": int(answer.finalized_features_epoch)}}


def _leadership(broker: int, answer: asks.Metadata) -> State:
    return {
        partition: {
            "broker": broker,
            "topic": partition[0],
            "partition": partition[1],
            "leader": seen.leader,
            "epoch": seen.leader_epoch,
            "isr": list(seen.isr),
            "replicas": list(seen.replicas),
        }
        for partition, seen in partitions(answer).items()
    }


def _fenced(broker: int, answer: asks.DescribeCluster) -> State:
    return {other: {"broker": other, "by": broker, "fenced": is_fenced} for other, is_fenced in fenced(answer).items()}


def _controller(broker: int, answer: asks.DescribeQuorum) -> State:
    controller, _, _, _ = quorum(answer)
    return {broker: {"broker": broker, "controller": -1 if controller is None else controller}}


def gone(kind: str, fields: Fields) -> Fields | None:
    """How a state looks that a broker no longer shows; None when its absence says nothing.

    A broker that has just started answers before it has read the metadata log: it knows no topic.
    """
    if kind == "leadership":
        return {**fields, "leader": -1, "epoch": -1, "isr": [], "replicas": []}
    return None


@dataclass(slots=True, kw_only=True)
class Tally:
    """What the observer has done so far, for its status line."""

    polls: int = 0
    up: dict[int, bool] = field(default_factory=dict)
    led: dict[str, tuple[int, int]] = field(default_factory=dict)  # partition -> newest (epoch, leader)

    def hear_leader(self, said: Fields) -> None:
        """A broker named the leader of a partition."""
        place = f"{said['topic']}/{said['partition']}"
        self.led[place] = max(self.led.get(place, (-1, -1)), (said["epoch"], said["leader"]))


@dataclass(slots=True)
class Applied:
    """How far one broker has applied the metadata log, as whoever leads sees it and those that follow read it."""

    offset: int | None = None
    sent_ns: int = 0  # of the newest poll that showed `offset`
    before: tuple[int | None, int] = (None, 0)  # the offset before it, and the send of the last poll that showed it
    moved: asyncio.Event = field(default_factory=asyncio.Event)  # set, and replaced, when `offset` changes

    def show(self, offset: int, sent_ns: int) -> None:
        """A poll that was sent then showed this offset."""
        if offset != self.offset:
            self.before, self.offset = (self.offset, self.sent_ns), offset
            self.moved.set()
            self.moved = asyncio.Event()
        self.sent_ns = sent_ns

    def showed_ns(self, offset: int | None, after_ns: int) -> int:
        """The send of the last poll that was sent after an instant and showed `offset`; 0: there is none."""
        for seen, sent_ns in ((self.offset, self.sent_ns), self.before):
            if seen is not None and seen == offset and sent_ns > after_ns:
                return sent_ns
        return 0


class Watcher:
    """Puts one `Watch` to one broker, until cancelled. `applied`: shared by all watchers of that broker."""

    def __init__(
        self, broker: int, opens: Opens, watch: Watch, write: Write, tally: Tally, applied: Applied | None = None
    ) -> None:
        self._broker, self._opens, self._watch = broker, opens, watch
        self._write, self._tally, self._applied = write, tally, applied or Applied()
        self._state: State = {}
        self._same: set[bytes] = set()  # answers, byte for byte, that are known to mean the present state
        self._unchanged_ns = time.monotonic_ns()  # send of the last poll that showed the present state
        self._up: bool | None = None
        self._up_ns = self._unchanged_ns  # send of the last attempt that showed `_up`
        self._tried_ns = self._unchanged_ns  # when the attempt began that is under way

    async def run(self) -> None:
        """Poll, and reconnect whenever the broker is away. Never returns; ends by cancellation."""
        while True:
            self._tried_ns = time.monotonic_ns()
            try:
                stream = await self._opens(connect_s=CONNECT_S, answer_s=self._watch.answer_s)
                try:
                    await self._poll(stream)
                finally:
                    stream.close()
            except NoAnswer as silence:
                self._reachable(self._tried_ns, time.monotonic_ns(), str(silence))
            await asyncio.sleep(max(RETRY_S, self._watch.every_s))

    async def _poll(self, stream: Stream) -> None:
        """Raises NoAnswer once the broker is away."""
        frame, answer_type = prepare(self._watch.ask, stream.offered)
        while True:
            offset, moved = self._applied.offset, self._applied.moved
            self._tried_ns = time.monotonic_ns()
            found = await stream.exchange(frame, self._watch.answer_s)
            self._tally.polls += 1
            self._reachable(found.sent_ns, found.received_ns, None)
            body = found.body[4:]  # without the correlation id
            if body not in self._same:
                state = self._watch.read(self._broker, frames.decode(answer_type, found.body, CORRELATION_ID))
                self._change(state, found.received_ns)
                if len(self._same) >= SAME_MAX:
                    self._same.clear()
                self._same.add(body)
            self._unchanged_ns = found.sent_ns
            if self._watch.leads:
                self._applied.show(self._state[self._broker]["offset"], found.sent_ns)
            await self._next(moved)
            if self._watch.follows:
                # Asked again at an offset that has not moved since, it would have answered the same.
                self._unchanged_ns = max(found.sent_ns, self._applied.showed_ns(offset, found.received_ns))

    async def _next(self, moved: asyncio.Event) -> None:
        """Until it is time to ask again."""
        if self._watch.follows:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._watch.every_s):
                    await moved.wait()
            return
        # Polls fall together, so that one wake-up serves all; missed ones are not made up for.
        now_s = asyncio.get_running_loop().time()
        await asyncio.sleep(self._watch.every_s - now_s % self._watch.every_s)

    def _change(self, state: State, received_ns: int) -> None:
        """Write what differs from the present state, and make `state` the present one."""
        kind = self._watch.kind
        merged = {**self._state, **state}
        for key in self._state.keys() - state.keys():
            absent = gone(kind, self._state[key])
            if absent is not None:
                merged[key] = absent
        changed = [fields for key, fields in merged.items() if self._state.get(key) != fields]
        for fields in changed:
            self._write(kind, self._unchanged_ns, received_ns, fields)
            if kind == "leadership":
                self._tally.hear_leader(fields)
        if changed:
            self._state = merged
            self._same.clear()

    def _reachable(self, tried_ns: int, seen_ns: int, error: str | None) -> None:
        if not self._watch.leads:
            return
        up = error is None
        if up != self._up:
            self._write("reachable", self._up_ns, seen_ns, {"broker": self._broker, "up": up, "error": error})
            self._up = self._tally.up[self._broker] = up
        self._up_ns = tried_ns
