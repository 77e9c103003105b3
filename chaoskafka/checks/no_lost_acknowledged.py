"""`no_lost_acknowledged`: whatever the client was told is stored, is in the log.

In: the tapes' sends and the audit, partition by partition. Out: a verdict. A lost message is one whose identity is
nowhere in its partition's audit; the acknowledged offset is evidence, not a condition, so a truncated tail is loss too.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from chaoskafka.history.doubt import Doubt, Reason, message_doubts, tell
from chaoskafka.history.places import acknowledged_at, lacking, messages
from chaoskafka.history.promises import PERMITTED, Allow, judged, label, promises
from chaoskafka.history.read import History
from chaoskafka.history.tables import AuditedEnd, TopicPartition
from chaoskafka.history.views import IDENTITY, acknowledged, loaded
from chaoskafka.verdict import EVIDENCE_MAX, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class NoLostAcknowledged:
    """Every acknowledged message is in the audit of its partition."""

    allow: Allow = "none"  # permitted: loss that acks, min ISR or unclean election permit passes, and is told

    def check(self, history: History) -> Verdict:
        doubts = message_doubts(history)
        counted, found = 0, []
        for partition in loaded(history):
            end = history.ends.get(partition)
            if end is None or not end.whole:
                continue  # named by the doubts; loss elsewhere still fails
            acked = acknowledged(history, partition)
            counted += acked.height
            if acked.is_empty():
                doubts.append(Doubt(Reason.NEVER_LOADED, str(partition), "nothing was acknowledged"))
            lost, expired = absent(history, partition)
            if not lost.is_empty():
                labelled = label(lost, promises(history.header, partition.topic), "keeps")
                found.append(_described(labelled, end, history, partition))
            doubts += _unanswered(partition, expired)
        return self._verdict(pl.concat(found) if found else None, counted, doubts)

    def _verdict(self, lost: pl.DataFrame | None, counted: int, doubts: list[Doubt]) -> Verdict:
        failing = judged(lost, self.allow) if lost is not None else pl.DataFrame()
        if not failing.is_empty():
            text = f"{failing.height} of {counted} acknowledged messages are lost{_permitted(failing)}"
            evidence = failing.head(EVIDENCE_MAX).to_dicts()
            return Verdict.failed(text, counted=counted, found=failing.height, evidence=evidence)
        if doubts:
            return Verdict.unknown(tell(doubts), counted=counted, evidence=[doubt.evidence for doubt in doubts])
        told = f"; {lost.height} lost as the settings permit" if lost is not None and lost.height else ""
        return Verdict.passed(f"all {counted} acknowledged messages are in the log{told}", counted=counted)


def absent(history: History, partition: TopicPartition) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The acknowledged messages that are nowhere in the audit: those that are lost, and those that may have expired.

    Both empty for a partition that was not read to its end.
    """
    acked, end = acknowledged(history, partition), history.ends.get(partition)
    if end is None or not end.whole:
        return acked.clear(), acked.clear()
    elsewhere = acked.filter(acknowledged_at(history, partition).is_null())
    gone = lacking(elsewhere, messages(history, partition))
    # Only below the log start may a record have expired. An acknowledgement without an offset compares as null: it may
    # have lain there too, unless the log still begins where it began.
    expired = (pl.col("offset") < end.log_start).fill_null(value=end.log_start > 0)
    return gone.filter(~expired), gone.filter(expired)


def _described(lost: pl.DataFrame, end: AuditedEnd, history: History, partition: TopicPartition) -> pl.DataFrame:
    """The lost messages, each with what stands at its acknowledged offset now."""
    taken = history.records(partition).select("offset", taken=pl.lit(value=True))
    instead = (
        pl.when(pl.col("offset").is_null())
        .then(pl.lit("acknowledged without an offset"))
        .when(pl.col("offset") >= end.end)
        .then(pl.lit("truncated tail"))
        .when(pl.col("taken"))
        .then(pl.lit("another record"))
        .otherwise(pl.lit("nothing"))
    )
    return lost.join(taken, on="offset", how="left").select(
        "label",
        pl.lit(str(partition)).alias("partition"),
        *IDENTITY,
        pl.col("offset").alias("acknowledged_offset"),
        instead.alias("there_now"),
        pl.col("completed_ns").alias("acknowledged_ns"),
    )


def _unanswered(partition: TopicPartition, expired: pl.DataFrame) -> list[Doubt]:
    if expired.is_empty():
        return []
    return [
        Doubt(
            Reason.EXPIRED,
            str(partition),
            f"{expired.height} acknowledged messages lay, or may have lain, below the log start",
        )
    ]


def _permitted(failing: pl.DataFrame) -> str:
    permitted = failing.filter(pl.col("label") == PERMITTED).height
    return f", {permitted} of them as the settings permit" if permitted else ""
