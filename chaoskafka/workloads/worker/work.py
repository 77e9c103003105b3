"""One worker from start to truthful end, whatever it stands in: a process with librdkafka, a thread with a fake client.

In: WorkerArguments, a directory, and a Place. Out: the tape and `worker.json` in that directory, status lines, and the
exit code (report.py).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

from chaoskafka.clock import clock_id
from chaoskafka.history.tape import FORMAT, TapeHeader
from chaoskafka.history.tape_writer import TapeWriter
from chaoskafka.workloads.worker.arguments import PRODUCE, WorkerArguments
from chaoskafka.workloads.worker.client import ConsumerClient, ConsumerListener, ProducerClient, ProducerListener
from chaoskafka.workloads.worker.consume_loop import ConsumeLoop
from chaoskafka.workloads.worker.produce_loop import ProduceLoop
from chaoskafka.workloads.worker.report import EXIT_CRASH, EXIT_FATAL, EXIT_HANG, ClosingReport
from chaoskafka.workloads.worker.stopping import Stop


class Clients(Protocol):
    """Makes the client that a worker works with."""

    def producer(self, arguments: WorkerArguments, listener: ProducerListener) -> ProducerClient: ...
    def consumer(self, arguments: WorkerArguments, listener: ConsumerListener) -> ConsumerClient: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a worker stands in."""

    clients: Clients
    stop: Stop
    out: TextIO  # status lines
    err: TextIO  # the traceback of a crash
    bound: Callable[[float, int], AbstractContextManager[None]]  # ends the worker when its body takes so many seconds


def work(arguments: WorkerArguments, directory: Path, place: Place) -> int:
    """Run one worker in `directory`; returns its exit code. Blocks until stopped. An exception ends in the report."""
    report = ClosingReport(worker=arguments.worker, incarnation=arguments.incarnation)
    header = TapeHeader(
        format=FORMAT,
        run_id=arguments.run_id,
        worker=arguments.worker,
        incarnation=arguments.incarnation,
        role=arguments.role,
        group=arguments.group,
        topics=arguments.topics,
        clock=clock_id(),
        segment_bytes=arguments.segment_bytes,
    )
    try:
        with TapeWriter(directory, header) as tape:
            return _run(arguments, tape, report, directory, place)
    except Exception:  # noqa: BLE001 - it becomes data: the judge must not take our own bug for the client's
        report.crash = traceback.format_exc()
        place.err.write(report.crash)
        with suppress(OSError):  # for want of room on the disk: then stderr has it
            report.save(directory)
        return EXIT_CRASH


def _run(arguments: WorkerArguments, tape: TapeWriter, report: ClosingReport, directory: Path, place: Place) -> int:
    loop: ProduceLoop | ConsumeLoop
    client: ProducerClient | ConsumerClient
    if arguments.role == PRODUCE:
        loop = ProduceLoop(arguments, tape, report, place.out)
        client = place.clients.producer(arguments, loop)
        drained = loop.run(client, place.stop)
    else:
        loop = ConsumeLoop(arguments, tape, report, place.out)
        client = place.clients.consumer(arguments, loop)
        drained = loop.run(client, place.stop)
    loop.settle()
    report.save(directory)  # what is true if the close hangs
    with place.bound(arguments.close_s, EXIT_HANG):
        client.close()
    loop.settle()
    report.drained = drained
    report.save(directory)
    loop.show_closed()
    return EXIT_FATAL if loop.failed else 0
