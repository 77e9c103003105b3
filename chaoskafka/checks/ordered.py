"""`ordered`: what one producer sent first is stored first.

In: the tapes' sends and the audit, partition by partition. Out: a verdict. Judged are acknowledged messages within one
producer incarnation and partition, each at the first offset where it is found: late messages of unknown outcome and
second copies are not disorder.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from chaoskafka.history.doubt import message_doubts, tell
from chaoskafka.history.places import messages, shared
from chaoskafka.history.promises import PERMITTED, Allow, judged, label, promises
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import IDENTITY, INCARNATION, acknowledged, loaded, repeated
from chaoskafka.verdict import EVIDENCE_MAX, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """Acknowledged messages of one producer lie in each partition in the order of sending."""

    allow: Allow = "none"  # permitted: disorder of producers that promise no order passes, and is told

    def check(self, history: History) -> Verdict:
        doubts = message_doubts(history)
        counted, copies, late, found = 0, 0, 0, []
        for partition in loaded(history):
            stored = messages(history, partition)
            first = stored.filter(~repeated(IDENTITY))
            placed = _acknowledged(first, history, partition)
            if _has_disorder(placed):
                overtaken = _overtaken(placed, partition)
                found.append(label(overtaken, promises(history.header, partition.topic), "in_order"))
            counted += placed.height
            copies += stored.height - first.height
            late += first.height - placed.height
        overtaken = pl.concat(found) if found else pl.DataFrame(schema={"label": pl.String})
        failing = judged(overtaken, self.allow)
        if not failing.is_empty():
            permitted = failing.filter(pl.col("label") == PERMITTED).height
            told = f", {permitted} of them as the settings permit" if permitted else ""
            text = f"{failing.height} of {counted} messages lie before one that was sent earlier{told}"
            evidence = failing.head(EVIDENCE_MAX).to_dicts()
            return Verdict.failed(text, counted=counted, found=failing.height, evidence=evidence)
        if doubts:
            return Verdict.unknown(tell(doubts), counted=counted, evidence=[doubt.evidence for doubt in doubts])
        told = f"; {overtaken.height} out of order as the settings permit" if overtaken.height else ""
        told += f"; not judged: {late} stored without acknowledgement, {copies} second copies" if late + copies else ""
        return Verdict.passed(f"{counted} acknowledged messages lie in the order of sending{told}", counted=counted)


def _acknowledged(first: pl.DataFrame, history: History, partition: TopicPartition) -> pl.DataFrame:
    """Those that were acknowledged, whatever offset the client was told."""
    others = shared(first.filter(~pl.col("vouched")), acknowledged(history, partition))
    found = first.filter("vouched")
    return found if others.is_empty() else pl.concat([found, others]).sort(*IDENTITY)


def _has_disorder(placed: pl.DataFrame) -> bool:
    """Whether some message lies below the one sent just before it: without such a pair none lies below any before."""
    return bool(placed.select((repeated(INCARNATION) & (pl.col("offset").diff() < 0)).any()).item())


def _overtaken(placed: pl.DataFrame, partition: TopicPartition) -> pl.DataFrame:
    """The messages that lie below the highest offset of those sent before them. `placed`: in the order of sending."""
    highest_before = pl.col("offset").cum_max().shift(1).over(INCARNATION)
    # The first message of an incarnation has nothing before it: null, which is no disorder.
    return (
        placed.with_columns(highest_before=highest_before)
        .filter(pl.col("offset") < pl.col("highest_before"))
        .select(
            pl.lit(str(partition)).alias("partition"),
            *IDENTITY,
            "offset",
            pl.col("highest_before").alias("offset_of_an_earlier_one"),
        )
    )
