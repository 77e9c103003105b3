"""The producer's loop: an open-loop schedule, each message on the tape before it is handed to the client.

What is due at once is a burst: begun on the tape together, then handed over partition by partition.

In: arguments, a client, a tape. Out: the tape, status lines, the counts of the closing report.
"""

from __future__ import annotations

import time
from typing import TextIO

import numpy as np

from chaoskafka.clock import NS_PER_MS, NS_PER_S, Deadline
from chaoskafka.errors import HarnessError
from chaoskafka.history.burst import BurstEncoder
from chaoskafka.history.identity import Encoder, place_of, run_number
from chaoskafka.history.tape import Kind, Outcome
from chaoskafka.history.tape_writer import TapeWriter
from chaoskafka.workloads.worker.arguments import WorkerArguments
from chaoskafka.workloads.worker.client import ClientError, Deliveries, ProducerClient
from chaoskafka.workloads.worker.lag import Lag
from chaoskafka.workloads.worker.report import ClosingReport, StatusLine
from chaoskafka.workloads.worker.slots import Slots
from chaoskafka.workloads.worker.stopping import Stop

TICK_S = 0.002  # how often deliveries are served: the resolution of every acknowledgement's instant
# Messages sent in one go when late, before deliveries are served again: about one tick's work (4 us each).
BURST_MAX = 500
BURST_BYTES_MAX = 4 * 1024 * 1024  # of their payloads together, which are in memory three times while they are made
FEW = 8  # so many messages are dealt with one by one: for fewer, arrays take longer than they save


class ProduceLoop:
    """One producer worker, and its client's listener. All of it runs on one thread."""

    def __init__(
        self, arguments: WorkerArguments, tape: TapeWriter, report: ClosingReport, out: TextIO | None = None
    ) -> None:
        self._arguments, self._tape, self._report = arguments, tape, report
        self._topic = arguments.topic_index
        self._partitions, self._size_bytes = arguments.partitions, arguments.message_bytes
        self._burst_max = max(1, min(BURST_MAX, BURST_BYTES_MAX // self._size_bytes))
        run, who = run_number(arguments.run_id), {"producer": arguments.worker, "incarnation": arguments.incarnation}
        self._encoder = Encoder(run, **who, topic=self._topic, size_bytes=self._size_bytes)
        self._burst_encoder = BurstEncoder(
            run, **who, topic=self._topic, size_bytes=self._size_bytes, most=self._burst_max
        )
        self._begun, self._slots = 0, Slots()
        self._acked = [0] * arguments.partitions
        self._last_ack_ns: list[int | None] = [None] * arguments.partitions
        # With acks=0 a success says only that the bytes went into a socket.
        self._on_success = Outcome.INDETERMINATE if arguments.acks == "0" else Outcome.ACKNOWLEDGED
        self._errors = 0
        self._failures = 0
        self._failed = False
        self._refusal: str | None = None
        self._lag, self._lag_shown_ns = Lag(), 0
        self._status = StatusLine(out)

    def run(self, client: ProducerClient, stop: Stop) -> bool:
        """Send until asked to stop, or until the client fails fatally; then wait for what is outstanding. Blocks.

        True when every message had its last word within `drain_s`.
        """
        self._produce(client, stop)
        deadline = Deadline.after(self._arguments.drain_s)
        while self._tape.unfinished and deadline.left_s() > 0:
            client.poll()
            self._show("draining")
            stop.pause(TICK_S)
        return self._tape.unfinished == 0

    def settle(self) -> None:
        """Bring the report up to now."""
        self._report.lag_max_ms, self._report.lag_p99_ms = self._lag.max_ms, self._lag.p99_ms
        # What the tape still waits for was counted by no callback: it is neither acknowledged nor refused.
        self._report.indeterminate = self._errors + self._tape.unfinished

    @property
    def failed(self) -> bool:
        """The client failed fatally."""
        return self._failed

    def show_closed(self) -> None:
        """The last status line."""
        self._show("closed", at_once=True)

    def delivered(self, deliveries: Deliveries) -> None:
        """Complete them on the tape, all at this instant: not before any of them was reported."""
        now_ns = time.monotonic_ns()
        if len(deliveries.payloads) <= FEW:
            self._complete_few(deliveries, now_ns)
        else:
            self._complete_many(deliveries, now_ns)

    def failed_with(self, error: ClientError) -> None:
        now_ns = time.monotonic_ns()
        self._tape.begin(Kind.ERROR, sequence=self._failures, end_ns=now_ns, b=int(error.fatal), code=error.code)
        self._slots.other(self._begun)
        self._failures += 1
        self._report.note(error)
        self._failed = self._failed or error.fatal
        self._refusal = self._refusal or (error.text if error.refused else None)

    def _produce(self, client: ProducerClient, stop: Stop) -> None:
        """Message k is due k / rate after the start, whatever became of the messages before it."""
        interval_ns = NS_PER_S / self._arguments.rate_per_s
        limit = Deadline.after(self._arguments.limit_s)
        started_ns = time.monotonic_ns()
        while not self._failed and limit.left_s() > 0:
            due = int((time.monotonic_ns() - started_ns) / interval_ns) + 1 - self._begun
            burst = min(due, self._burst_max)
            if burst > 0:
                self._send(client, burst, started_ns, interval_ns)
            client.poll()
            self._show("running")
            if stop.pause(0 if burst == self._burst_max else TICK_S):
                return

    def _send(self, client: ProducerClient, count: int, started_ns: int, interval_ns: float) -> None:
        """Send the next `count` messages. What is begun is counted, even of a burst that an error cut short."""
        first, refused, partitions = self._begun, 0, self._partitions
        if count <= FEW:
            slot, payloads = self._begin_few(first, count, started_ns, interval_ns)
        else:
            slot, payloads = self._begin_many(first, count, started_ns, interval_ns)
        self._begun += count
        if slot != self._slots.of_one(first):
            raise HarnessError(f"message {first} is record {slot}, not {self._slots.of_one(first)}")
        try:
            for i in range(min(count, partitions)):
                for place, code in client.send((first + i) % partitions, payloads[i::partitions]):
                    refused += 1
                    place_in_burst = i + place * partitions
                    self._tape.complete(slot + place_in_burst, Outcome.REJECTED, end_ns=time.monotonic_ns(), code=code)
        finally:
            self._report.offered += count
            self._report.refused += refused
            self._report.accepted += count - refused

    def _begin_few(self, first: int, count: int, started_ns: int, interval_ns: float) -> tuple[int, list[bytes]]:
        """Have the messages on the tape; returns the slot of the first, and all payloads."""
        places = [divmod(number, self._partitions) for number in range(first, first + count)]
        payloads = [self._encoder.encode(partition, sequence) for sequence, partition in places]
        invoked_ns = time.monotonic_ns()
        slots = [
            self._tape.begin_send(self._topic, partition, sequence, invoked_ns, self._size_bytes)
            for sequence, partition in places
        ]
        for number in range(first, first + count):
            self._lag.add(invoked_ns - started_ns - int(number * interval_ns))
        self._lag_shown_ns = max(self._lag_shown_ns, invoked_ns - started_ns - int(first * interval_ns))
        return slots[0], payloads

    def _begin_many(self, first: int, count: int, started_ns: int, interval_ns: float) -> tuple[int, list[bytes]]:
        """`_begin_few` with arrays."""
        numbers = np.arange(first, first + count)
        sequences, partitions = np.divmod(numbers, self._partitions)
        payloads = self._burst_encoder.encode(partitions, sequences)
        # One instant for all, taken before the first call: an interval that begins here only gets wider.
        invoked_ns = time.monotonic_ns()
        slot = self._tape.begin_sends(self._topic, partitions, sequences, invoked_ns, self._size_bytes)
        lags_ns = invoked_ns - started_ns - (numbers * interval_ns).astype(np.int64)
        self._lag.add_all(lags_ns)
        self._lag_shown_ns = max(self._lag_shown_ns, int(lags_ns[0]))
        return slot, payloads

    def _complete_few(self, deliveries: Deliveries, now_ns: int) -> None:
        payloads, codes, offsets, latencies_ns = deliveries
        codes = codes or [0] * len(payloads)
        for payload, code, offset, latency_ns in zip(payloads, codes, offsets, latencies_ns, strict=True):
            partition, sequence = place_of(payload)
            slot = self._slots.of_one(sequence * self._partitions + partition)
            outcome = Outcome.INDETERMINATE if code else self._on_success
            self._tape.complete(slot, outcome, end_ns=now_ns, offset=offset, a=latency_ns, code=code)
            if outcome is Outcome.ACKNOWLEDGED:
                self._acknowledged(partition, 1, now_ns)
            else:
                self._errors += 1

    def _complete_many(self, deliveries: Deliveries, now_ns: int) -> None:
        """`_complete_few` with arrays."""
        partitions, sequences = self._burst_encoder.places(deliveries.payloads)
        outcomes = np.full(len(partitions), self._on_success, dtype=np.uint8)
        codes = None
        if deliveries.codes is not None:
            codes = np.array(deliveries.codes)
            outcomes[codes != 0] = Outcome.INDETERMINATE
        self._tape.complete_sends(
            self._slots.of(sequences * self._partitions + partitions),
            outcomes,
            end_ns=now_ns,
            offsets=np.array(deliveries.offsets),
            latencies_ns=np.asarray(deliveries.latencies_ns),
            codes=codes,
        )
        of_each = np.bincount(partitions[outcomes == Outcome.ACKNOWLEDGED], minlength=self._partitions).tolist()
        for partition, count in enumerate(of_each):
            if count:
                self._acknowledged(partition, count, now_ns)
        self._errors += len(partitions) - sum(of_each)

    def _acknowledged(self, partition: int, count: int, now_ns: int) -> None:
        self._report.acknowledged += count
        self._acked[partition] += count
        self._last_ack_ns[partition] = now_ns

    def _show(self, state: str, *, at_once: bool = False) -> None:
        now_ns = time.monotonic_ns()
        if not (at_once or self._status.is_due(now_ns)):
            return
        report, topic = self._report, self._arguments.topic
        self._status.show(
            now_ns,
            {
                "state": state,
                "refusal": self._refusal,
                "offered": report.offered,
                "acknowledged": report.acknowledged,
                "indeterminate": self._errors,
                "refused": report.refused,
                "outstanding": self._tape.unfinished,
                "lag_ms": round(self._lag_shown_ns / NS_PER_MS, 3),
                "acked_per_partition": {f"{topic}/{p}": count for p, count in enumerate(self._acked)},
                "last_ack_ns": {f"{topic}/{p}": at_ns for p, at_ns in enumerate(self._last_ack_ns)},
            },
        )
        self._lag_shown_ns = 0
