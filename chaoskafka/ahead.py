"""What several checks will ask of a history, computed before they do, several partitions at a time.

In: a History. Out: nothing but what it keeps from now on. A check goes through the partitions one by one and so leaves
all but one processor idle; the tables that checks share depend on one partition each.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress

from chaoskafka.history.places import messages, read_at
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import groups, holes
from chaoskafka.timing.successes import of_group, of_producers

THREADS_MAX = 8  # each holds the tables of one partition; more would wait for Python's own lock


def compute_ahead(history: History) -> None:
    """Blocks until it is done or the history keeps no more. Raises nothing: what goes wrong here goes wrong again for
    the check that asks, which knows what to make of it."""
    threads = min(THREADS_MAX, len(os.sched_getaffinity(0)), len(history.partitions))
    if threads < 2:
        return
    with ThreadPoolExecutor(threads) as pool:
        wait([pool.submit(_compute, history, partition) for partition in history.partitions])


def _compute(history: History, partition: TopicPartition) -> None:
    if history.kept.is_full:
        return
    with suppress(Exception):
        history.batches(partition)
        holes(history, partition)
        messages(history, partition)
        read_at(history, partition)
        of_producers(history, partition)
        for group in groups(history):
            if group.topic == partition.topic:
                of_group(history, group, partition)
