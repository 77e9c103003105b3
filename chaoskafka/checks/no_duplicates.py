"""`no_duplicates`: no message is stored twice.

In: the audit's records and batches, partition by partition. Out: a verdict with, for each copy, whose doing it was.
A message that a consumer read twice at one offset is not a duplicate.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from chaoskafka.history.doubt import message_doubts, tell
from chaoskafka.history.places import messages
from chaoskafka.history.promises import PERMITTED, Allow, judged, label, promises
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import IDENTITY, in_batches, loaded, repeated
from chaoskafka.verdict import EVIDENCE_MAX, Verdict

_SEQUENCES = 2**31  # a producer's sequence number wraps from 2^31 - 1 to 0 (DefaultRecordBatch.incrementSequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoDuplicates:
    """No message is found at two offsets of its partition."""

    allow: Allow = "none"  # permitted: copies by producers without idempotence pass, and are told

    def check(self, history: History) -> Verdict:
        doubts = message_doubts(history)
        counted, found = 0, []
        for partition in loaded(history):
            stored = messages(history, partition)
            again = stored.filter(repeated(IDENTITY))
            if not again.is_empty():
                copies = _copies(stored, again, history, partition)
                found.append(label(copies, promises(history.header, partition.topic), "once"))
            counted += stored.height
        copies = pl.concat(found) if found else pl.DataFrame(schema={"label": pl.String})
        failing = judged(copies, self.allow)
        if not failing.is_empty():
            permitted = failing.filter(pl.col("label") == PERMITTED).height
            told = f", {permitted} of them as the settings permit" if permitted else ""
            text = f"{failing.height} messages are stored more than once{told}"
            evidence = failing.head(EVIDENCE_MAX).to_dicts()
            return Verdict.failed(text, counted=counted, found=failing.height, evidence=evidence)
        if doubts:
            return Verdict.unknown(tell(doubts), counted=counted, evidence=[doubt.evidence for doubt in doubts])
        told = f"; {copies.height} messages have copies that the settings permit" if copies.height else ""
        return Verdict.passed(f"{counted} records hold no message twice{told}", counted=counted)


def _copies(stored: pl.DataFrame, again: pl.DataFrame, history: History, partition: TopicPartition) -> pl.DataFrame:
    """One row per message that is stored more than once."""
    twice = stored.join(again, on=IDENTITY, how="semi")
    # Where the audit has no batch for a record, its producer id is null, and null equals nothing: then the copy is
    # never laid at the broker's door.
    sent_as = ((pl.col("base_sequence").cast(pl.Int64) + pl.col("offset") - pl.col("base_offset")) % _SEQUENCES).alias(
        "sent_as"
    )
    placed = in_batches(twice, history.batches(partition)).with_columns(sent_as).sort("offset")
    one_sending = pl.struct("producer_id", "producer_epoch", "sent_as")
    numbered = (pl.col("producer_id") >= 0).fill_null(value=False)
    return (
        placed.group_by(IDENTITY)
        .agg(
            pl.col("offset").alias("offsets"),
            pl.col("leader_epoch").alias("leader_epochs"),
            (numbered & one_sending.is_duplicated()).any().alias("by_broker"),
        )
        .sort(IDENTITY)
        .select(
            pl.lit(str(partition)).alias("partition"),
            *IDENTITY,
            "offsets",
            "leader_epochs",
            pl.when("by_broker")
            .then(pl.lit("broker: one producer sequence stored twice"))
            .otherwise(pl.lit("client: sent again under another sequence"))
            .alias("culprit"),
        )
    )
