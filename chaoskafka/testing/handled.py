"""What an application made of the messages: its own account of them, held against the log.

In: ids that it says it handled, and the history. Out: what it lost, what it handled twice, what it made up. An id is
text, read from a message by `ids.identity`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from chaoskafka.history.identity import Identity, PayloadState, run_number
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import acknowledged, loaded
from chaoskafka.testing.ids import id_of

SHOWN_MAX = 10  # ids of a kind in a failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What the application did with the messages that lie in the log. Ids, sorted."""

    handled: int  # different messages
    lost: tuple[str, ...]  # in the log, never handled
    twice: tuple[str, ...]  # handled more than once
    unknown: tuple[str, ...]  # handled, and in no log: made up, or of another run

    def __str__(self) -> str:
        found = ((name, getattr(self, name)) for name in ("lost", "twice", "unknown"))
        lines = [f"{name} {len(ids)}: {', '.join(ids[:SHOWN_MAX])}" for name, ids in found if ids]
        return "\n".join([f"the application handled {self.handled} messages", *(f"  {line}" for line in lines)])


def acknowledged_ids(history: History) -> list[str]:
    """The ids of all messages that were acknowledged, sorted."""
    return sorted(
        one for partition in loaded(history) for one in _ids(history, partition, acknowledged(history, partition))
    )


def stored_ids(history: History) -> set[str]:
    """The ids of all whole messages of this run in the audited logs."""
    ours = pl.col("state") == PayloadState.OURS
    return {
        one
        for partition in loaded(history)
        for one in _ids(history, partition, history.records(partition).filter(ours))
    }


def _ids(history: History, partition: TopicPartition, rows: pl.DataFrame) -> list[str]:
    run, topic = run_number(history.header.run_id), history.header.topic(partition.topic).index
    names = rows.select("producer", "incarnation", "sequence").iter_rows()
    return [id_of(run, Identity(of, again, topic, partition.partition, number)) for of, again, number in names]


def compare(stored: set[str], seen: Iterable[str]) -> Handled:
    """Pure."""
    counts = Counter(seen)
    return Handled(
        handled=len(counts.keys() & stored),
        lost=tuple(sorted(stored - counts.keys())),
        twice=tuple(sorted(one for one, times in counts.items() if times > 1)),
        unknown=tuple(sorted(counts.keys() - stored)),
    )
