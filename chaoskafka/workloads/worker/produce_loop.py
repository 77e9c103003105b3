"""The producer's loop: an open-loop schedule, each message on the tape before it is handed to the client.

In: arguments, a client, a tape. Out: the tape, status lines, the counts of the closing report.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TextIO

from chaoskafka.clock import NS_PER_MS, NS_PER_S, Deadline
from chaoskafka.history.identity import Encoder, run_number
from chaoskafka.history.tape import Kind, Outcome
from chaoskafka.history.tape_writer import TapeWriter
from chaoskafka.workloads.worker.arguments import WorkerArguments
from chaoskafka.workloads.worker.client import ClientError, ProducerClient, Refused
from chaoskafka.workloads.worker.lag import Lag
from chaoskafka.workloads.worker.report import ClosingReport, StatusLine
from chaoskafka.workloads.worker.stopping import Stop

TICK_S = 0.002  # how often deliveries are served: the resolution of every acknowledgement's instant
BURST_MAX = 200  # messages sent in one go when late, before deliveries are served again


class ProduceLoop:
    """One producer worker, and its client's listener. All of it runs on one thread."""

    def __init__(
        self, arguments: WorkerArguments, tape: TapeWriter, report: ClosingReport, out: TextIO | None = None
    ) -> None:
        self._arguments, self._tape, self._report = arguments, tape, report
        self._topic = arguments.topic_index
        self._encoder = Encoder(
            run_number(arguments.run_id),
            producer=arguments.worker,
            incarnation=arguments.incarnation,
            topic=self._topic,
            size_bytes=arguments.message_bytes,
        )
        self._next_sequence = [0] * arguments.partitions
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

    def delivered(self, slot: int, partition: int, code: int, offset: int, latency_ns: int) -> None:
        now_ns = time.monotonic_ns()
        outcome = Outcome.INDETERMINATE if code else self._on_success
        self._tape.complete(slot, outcome, end_ns=now_ns, offset=offset, a=latency_ns, code=code)
        if outcome is Outcome.ACKNOWLEDGED:
            self._report.acknowledged += 1
            self._acked[partition] += 1
            self._last_ack_ns[partition] = now_ns
        else:
            self._errors += 1

    def failed_with(self, error: ClientError) -> None:
        now_ns = time.monotonic_ns()
        self._tape.begin(Kind.ERROR, sequence=self._failures, end_ns=now_ns, b=int(error.fatal), code=error.code)
        self._failures += 1
        self._report.note(error)
        self._failed = self._failed or error.fatal
        self._refusal = self._refusal or (error.text if error.refused else None)

    def _produce(self, client: ProducerClient, stop: Stop) -> None:
        """Message k is due k / rate after the start, whatever became of the messages before it."""
        interval_ns = NS_PER_S / self._arguments.rate_per_s
        limit = Deadline.after(self._arguments.limit_s)
        started_ns, number = time.monotonic_ns(), 0
        while not self._failed and limit.left_s() > 0:
            due = int((time.monotonic_ns() - started_ns) / interval_ns) + 1 - number
            burst = min(due, BURST_MAX)
            self._send(client, [(k, started_ns + int(k * interval_ns)) for k in range(number, number + burst)])
            number += burst
            client.poll()
            self._show("running")
            if stop.pause(0 if burst == BURST_MAX else TICK_S):
                return

    def _send(self, client: ProducerClient, messages: Sequence[tuple[int, int]]) -> None:
        """Send messages of these numbers, due at these instants. A producer may be asked for all that it can: so what
        is done for each message is looked up once, and counted at the end, even of a burst that an error cut short."""
        report, next_sequence, partitions = self._report, self._next_sequence, self._arguments.partitions
        topic, size_bytes, clock = self._topic, self._arguments.message_bytes, time.monotonic_ns
        begin, encode, send, add_lag = self._tape.begin_send, self._encoder.encode, client.send, self._lag.add
        offered = refused = 0
        try:
            for number, due_ns in messages:
                partition = number % partitions
                sequence = next_sequence[partition]
                payload = encode(partition, sequence)
                invoked_ns = clock()
                slot = begin(topic, partition, sequence, invoked_ns, size_bytes)
                next_sequence[partition] = sequence + 1
                offered += 1
                try:
                    send(partition, payload, slot)
                except Refused as why:
                    self._tape.complete(slot, Outcome.REJECTED, end_ns=clock(), code=why.code)
                    refused += 1
                add_lag(invoked_ns - due_ns)
                self._lag_shown_ns = max(self._lag_shown_ns, invoked_ns - due_ns)
        finally:
            report.offered += offered
            report.refused += refused
            report.accepted += offered - refused

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
