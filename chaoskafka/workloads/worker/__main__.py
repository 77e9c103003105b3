"""`python -m chaoskafka.workloads.worker ARGUMENTS`: one producer or consumer, from start to truthful end.

In: WorkerArguments as JSON, or the path of a file with it; SIGTERM asks for the end. Out, in $CHAOSKAFKA_DIR (else the
working directory): the tape and `worker.json`; on stdout a status line every half second. Exit codes: report.py.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from chaoskafka.clock import clock_id
from chaoskafka.errors import UsageError
from chaoskafka.history.tape import FORMAT, TapeHeader
from chaoskafka.history.tape_writer import TapeWriter
from chaoskafka.workloads.worker.arguments import PRODUCE, WorkerArguments
from chaoskafka.workloads.worker.client import ConsumerClient, ProducerClient
from chaoskafka.workloads.worker.consume_loop import ConsumeLoop
from chaoskafka.workloads.worker.librdkafka import LibrdkafkaConsumer, LibrdkafkaProducer
from chaoskafka.workloads.worker.produce_loop import ProduceLoop
from chaoskafka.workloads.worker.report import EXIT_CRASH, EXIT_FATAL, EXIT_HANG, ClosingReport
from chaoskafka.workloads.worker.stopping import SignalStop, Stop, hang_guard


def work(arguments: WorkerArguments, directory: Path, stop: Stop) -> int:
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
            return _run(arguments, tape, report, directory, stop)
    except Exception:  # noqa: BLE001 - it becomes data: the judge must not take our own bug for the client's
        report.crash = traceback.format_exc()
        report.save(directory)
        sys.stderr.write(report.crash)
        return EXIT_CRASH


def _run(arguments: WorkerArguments, tape: TapeWriter, report: ClosingReport, directory: Path, stop: Stop) -> int:
    loop: ProduceLoop | ConsumeLoop
    client: ProducerClient | ConsumerClient
    if arguments.role == PRODUCE:
        loop = ProduceLoop(arguments, tape, report)
        client = LibrdkafkaProducer(arguments.settings, arguments.topic, range(arguments.partitions), loop)
        drained = loop.run(client, stop)
    else:
        loop = ConsumeLoop(arguments, tape, report)
        client = LibrdkafkaConsumer(arguments.settings, arguments.topic, loop)
        drained = loop.run(client, stop)
    loop.settle()
    report.save(directory)  # what is true if the close hangs
    with hang_guard(arguments.close_s, EXIT_HANG):
        client.close()
    loop.settle()
    report.drained = drained
    report.save(directory)
    loop.show_closed()
    return EXIT_FATAL if loop.failed else 0


def main() -> None:
    """The process. It leaves by os._exit after a crash, since a client in an unknown state may never let go."""
    stop = SignalStop()
    if len(sys.argv) != 2:
        sys.exit("usage: python -m chaoskafka.workloads.worker ARGUMENTS.json | '{…}'")
    try:
        arguments = WorkerArguments.given(sys.argv[1])
    except UsageError as wrong:
        sys.stderr.write(f"{wrong}\n")
        sys.exit(int(wrong.exit_code))
    code = work(arguments, Path(os.environ.get("CHAOSKAFKA_DIR", ".")), stop)
    sys.stdout.flush()
    sys.stderr.flush()
    if code:
        os._exit(code)


if __name__ == "__main__":
    main()
