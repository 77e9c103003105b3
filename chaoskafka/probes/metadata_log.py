"""The metadata log, read live of the controllers themselves. One task per controller; what all of them say is merged.

In: controllers' addresses. Out: a line for each record and for each change of what a controller says of the quorum, as
`history.observations` lays down. A record lies between its batch's timestamp and its arrival here: the timestamp is
taken when the batch is opened, so it is early by up to controller.quorum.append.linger.ms, and never late. Records come
as soon as the leader has them, before they are committed; the high watermark follows.

Each controller is asked at the highest epoch that any has named. Only the leader of that epoch answers with records; a
deposed one, or one that is cut off, answers whom it believes in. So the reader goes from leader to leader by itself,
and sees two of them where there are two.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from kio.schema.errors import ErrorCode

from chaoskafka.clock import NS_PER_MS
from chaoskafka.cluster.replay import Replay, lines_of
from chaoskafka.cluster.wire import asks, frames, records
from chaoskafka.cluster.wire.batches import Batch, Damaged, split
from chaoskafka.cluster.wire.stream import CORRELATION_ID, Exchange, Stream, prepare
from chaoskafka.errors import NoAnswer
from chaoskafka.probes.broker_views import CONNECT_S, RETRY_S, Fields, Opens, Write

WAIT_MS = 500  # a leader without news answers after so long; the cadence of no-ops by default
ANSWER_S = 1.5  # the wait, and what an overloaded machine adds to it
BYTES_MAX = 8 << 20  # of one answer: a young log is some 20 KiB
NOBODY = -1  # the controller of a controller that knows none, or is away
PAUSE_S = 0.05  # between questions to a controller that does not lead: bounds how late a new leader is noticed


@dataclass(slots=True, kw_only=True)
class Stopping:
    """A broker that is in controlled shutdown: since when, and the record that says so."""

    offset: int
    lo_ns: int
    hi_ns: int


@dataclass(slots=True)
class MergedLog:
    """Where the reader is, whichever controller it reads of, and what it has understood so far."""

    write: Write
    epoch: int = 1  # the highest that any controller has named; the first that there can be
    offset: int = 0  # the next record
    last_epoch: int = 0  # of the record before it
    high_watermark: int = -1
    stopping: dict[int, Stopping] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)  # `stopping` has changed: somebody waits for that
    _replay: Replay = field(default_factory=Replay)
    _told: int = 0  # records below this offset have been written down already
    _uncommitted: list[int] = field(default_factory=list)  # the last offset of each batch that is
    _begins: dict[int, int] = field(default_factory=dict)  # the first record of each epoch that was read
    _unmoved_ns: int = 0  # send of the last question whose answer showed the present high watermark

    @property
    def place(self) -> asks.MetadataFrom:
        """What to ask for next."""
        return asks.MetadataFrom(
            epoch=self.epoch,
            offset=self.offset,
            last_epoch=self.last_epoch,
            high_watermark=self.high_watermark,
            bytes_max=BYTES_MAX,
            wait_ms=WAIT_MS,
        )

    def take(self, by: int, asked: asks.MetadataFrom, found: Exchange, part: Any) -> None:
        """What the leader `by` answered to `asked`. An answer that another leader has overtaken is dropped."""
        if asked.epoch != self.epoch or asked.offset != self.offset:
            return
        if part.snapshot_id.epoch >= 0:
            self._skip(by, found, part)
            return
        if part.diverging_epoch.epoch >= 0:
            self._cut(by, found, part)
            return
        shift_ns = time.time_ns() - time.monotonic_ns()
        for batch in split(bytes(part.records or b"")):
            if batch.last_offset >= self.offset:
                self._read(by, batch, found.received_ns, shift_ns)
        self._commit(found, int(part.high_watermark))

    def _read(self, by: int, batch: Batch, received_ns: int, shift_ns: int) -> None:
        stamped_ns = min(batch.base_timestamp_ms * NS_PER_MS - shift_ns, received_ns)
        common = {
            "by": by,
            "quorum_epoch": batch.leader_epoch,
            "last_offset": batch.last_offset,
            "stamped_ms": batch.base_timestamp_ms,
        }
        telling = batch.base_offset >= self._told
        for offset, said in records.said_in(batch):
            for kind, fields in lines_of(self._replay, said):
                if telling:
                    self.write(kind, stamped_ns, received_ns, {**fields, "offset": offset, **common})
                if telling and kind == "log_broker":
                    self._note_stopping(fields, Stopping(offset=offset, lo_ns=stamped_ns, hi_ns=received_ns))
        if telling:
            self._uncommitted.append(batch.last_offset)
            self._begins.setdefault(batch.leader_epoch, batch.base_offset)
        self.offset, self.last_epoch = batch.last_offset + 1, batch.leader_epoch
        self._told = max(self._told, self.offset)

    def _note_stopping(self, fields: Fields, seen: Stopping) -> None:
        broker = fields["broker"]
        if fields["stopping"] == (broker in self.stopping):
            return
        if fields["stopping"]:
            self.stopping[broker] = seen
        else:
            del self.stopping[broker]
        self.news.set()

    def _commit(self, found: Exchange, high_watermark: int) -> None:
        """A batch was committed after its arrival at the leader, and after the last answer that did not show it yet."""
        if high_watermark > self.high_watermark:
            while self._uncommitted and self._uncommitted[0] < high_watermark:
                fields = {"last_offset": self._uncommitted.pop(0)}
                self.write("log_committed", self._unmoved_ns, found.received_ns, fields)
            self.high_watermark = high_watermark
        self._unmoved_ns = found.sent_ns

    def _cut(self, by: int, found: Exchange, part: Any) -> None:
        """What an earlier leader wrote from here on was never committed, and the new one has something else.

        The log is read again from its beginning, silently up to here: undoing records would take as long to write.
        """
        # The new leader names where the last epoch ends that both have; whatever was read of a later one is void too.
        later = {epoch: offset for epoch, offset in self._begins.items() if epoch > part.diverging_epoch.epoch}
        end = min(int(part.diverging_epoch.end_offset), *later.values(), self.offset)
        self._begins = {epoch: offset for epoch, offset in self._begins.items() if epoch not in later}
        fields = {"by": by, "offset": end, "quorum_epoch": self.epoch}
        self.write("log_cut", found.sent_ns, found.received_ns, fields)
        self._uncommitted = [pending for pending in self._uncommitted if pending < end]
        self.stopping = {broker: seen for broker, seen in self.stopping.items() if seen.offset < end}
        self.offset = self.last_epoch = 0
        self._told, self._replay = min(self._told, end), Replay()

    def _skip(self, by: int, found: Exchange, part: Any) -> None:
        """The beginning of the log is gone: go on behind the snapshot. What lay in it stays unknown."""
        end, epoch = int(part.snapshot_id.end_offset), int(part.snapshot_id.epoch)
        self.write("log_skipped", found.sent_ns, found.received_ns, {"by": by, "offset": end, "quorum_epoch": epoch})
        self.offset, self.last_epoch, self._replay = end, epoch, Replay()


class Follower:
    """Asks one controller, until cancelled."""

    def __init__(self, controller: int, opens: Opens, log: MergedLog) -> None:
        self._controller, self._opens, self._log = controller, opens, log
        self._named: Fields | None = None  # the leader and its epoch, as it said last
        self._tried_ns = time.monotonic_ns()  # when the attempt began that is under way
        self._named_ns = self._tried_ns  # send of the last question that it answered so

    async def run(self) -> None:
        """Ask, and reconnect whenever the controller is away. Ends by cancellation, and when an answer makes us crash:
        then the log ends there, and what brokers themselves say is watched all the same."""
        while True:
            self._tried_ns = time.monotonic_ns()
            try:
                stream = await self._opens(connect_s=CONNECT_S, answer_s=ANSWER_S)
                try:
                    await self._follow(stream)
                finally:
                    stream.close()
            except NoAnswer as silence:
                self._say(self._tried_ns, time.monotonic_ns(), {"controller": NOBODY, "error": str(silence)})
            except Exception as crash:  # noqa: BLE001 - it becomes data
                error = f"the reader crashed: {type(crash).__name__}: {crash}"
                self._say(self._tried_ns, time.monotonic_ns(), {"controller": NOBODY, "error": error})
                return
            await asyncio.sleep(RETRY_S)

    async def _follow(self, stream: Stream) -> None:
        """Raises NoAnswer once the controller is away, or answers what cannot be read."""
        asked, refused = None, b""  # the newest refusal, byte for byte: most are as the one before
        while True:
            if asked != self._log.place:
                asked = self._log.place
                frame, answer_type = prepare(asks.fetch_metadata(asked), stream.offered)
            self._tried_ns = time.monotonic_ns()
            found = await stream.exchange(frame, ANSWER_S)
            body = found.body[4:]  # without the correlation id
            if body == refused:
                self._named_ns = found.sent_ns
                await asyncio.sleep(PAUSE_S)
                continue
            part = _partition(frames.decode(answer_type, found.body, CORRELATION_ID))
            if part.error_code is ErrorCode.none:
                self._name(found, self._controller, asked.epoch)
                try:
                    self._log.take(self._controller, asked, found, part)
                except Damaged as broken:
                    raise NoAnswer(f"controller {self._controller}: {broken}") from broken
            else:
                self._name(found, int(part.current_leader.leader_id), int(part.current_leader.leader_epoch))
                refused = body
                await asyncio.sleep(PAUSE_S)

    def _name(self, found: Exchange, leader: int, epoch: int) -> None:
        """Whom the controller takes for the leader now. Whoever names the highest epoch is believed."""
        self._say(found.sent_ns, found.received_ns, {"controller": leader, "quorum_epoch": epoch})
        self._log.epoch = max(self._log.epoch, epoch)

    def _say(self, asked_ns: int, seen_ns: int, said: Fields) -> None:
        if said != self._named:
            self._log.write("quorum", self._named_ns, seen_ns, {"by": self._controller, **said})
            self._named = said
        self._named_ns = asked_ns


def _partition(answer: Any) -> Any:
    """The one partition of an answer. Raises NoAnswer when there is none."""
    if answer.error_code:
        raise NoAnswer(f"fetch of the metadata log: {answer.error_code.name}")
    for topic in answer.responses:
        for partition in topic.partitions:
            return partition
    raise NoAnswer("fetch of the metadata log: an empty answer")
