"""`python -m chaoskafka.workloads.worker ARGUMENTS`: one producer or consumer in a process of its own, on librdkafka.

In: WorkerArguments as JSON, or the path of a file with it; in the environment, how to get in; SIGTERM asks for the end.
Out, in $CHAOSKAFKA_DIR (else the working directory): the tape and `worker.json`; on stdout a status line every half
second. Exit codes: report.py.
"""

from __future__ import annotations

import gc
import os
import sys

# Before NumPy comes in: a thread of its algebra, which nothing here needs, would take the SIGTERM that SignalStop waits
# for, and end the process by it.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from dataclasses import replace
from pathlib import Path

from chaoskafka.cluster.security import Security
from chaoskafka.errors import UsageError
from chaoskafka.workloads.worker.arguments import WorkerArguments
from chaoskafka.workloads.worker.librdkafka import LibrdkafkaClients
from chaoskafka.workloads.worker.stopping import SignalStop, hang_guard
from chaoskafka.workloads.worker.work import Place, work

# Python looks for cycles once so many containers more are alive, not 700: a burst and its reports are thousands, all
# gone a moment later, and looking through them took a flat-out producer a fifth of its time.
CONTAINERS_MAX = 50_000


def main() -> None:
    """The process. It leaves by os._exit after a crash, since a client in an unknown state may never let go."""
    stop = SignalStop()
    gc.set_threshold(CONTAINERS_MAX)
    if len(sys.argv) != 2:
        sys.exit("usage: python -m chaoskafka.workloads.worker ARGUMENTS.json | '{…}'")
    try:
        arguments = replace(WorkerArguments.given(sys.argv[1]), security=Security.given(os.environ))
    except UsageError as wrong:
        sys.stderr.write(f"{wrong}\n")
        sys.exit(int(wrong.exit_code))
    place = Place(clients=LibrdkafkaClients(), stop=stop, out=sys.stdout, err=sys.stderr, bound=hang_guard)
    code = work(arguments, Path(os.environ.get("CHAOSKAFKA_DIR", ".")), place)
    sys.stdout.flush()
    sys.stderr.flush()
    if code:
        os._exit(code)


if __name__ == "__main__":
    main()
