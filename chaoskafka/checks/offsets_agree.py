"""`offsets_agree`: one offset, one message, whoever is asked.

In: acknowledgements, consumers' reads and the audit, partition by partition. Out: a verdict. Broken records name no
message and are left to `no_unexpected`.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from chaoskafka.history.doubt import message_doubts, tape_doubts, tell
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.places import acknowledged_at, is_key, read_at
from chaoskafka.history.promises import PERMITTED, Allow, judged, label, promises
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import IDENTITY, acknowledged, loaded, repeated
from chaoskafka.verdict import EVIDENCE_MAX, Verdict

_NAME = ("state", *IDENTITY, "sent_topic", "sent_partition")
_BY = pl.Enum(["audit", "acknowledgement", "consumer"])  # sorted along with each name: a number travels lighter


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsAgree:
    """Acknowledgements, consumers and the audit name the same message at each offset."""

    allow: Allow = "none"  # permitted: an offset taken over from a message whose loss the settings permit passes

    def check(self, history: History) -> Verdict:
        counted, found = 0, []
        for partition in loaded(history):
            doubtful = _doubtful(history, partition)
            named = _named(history, partition, doubtful)
            disputes = _disputed(named, partition)
            if not disputes.is_empty():
                found.append(_labelled(disputes, history, partition))
            counted += _agreed(history, partition, doubtful) + named["offset"].n_unique()
        labelled = pl.concat(found) if found else pl.DataFrame(schema={"label": pl.String})
        failing = judged(labelled, self.allow)
        if not failing.is_empty():
            permitted = failing.filter(pl.col("label") == PERMITTED).height
            told = f", {permitted} of them as the settings permit" if permitted else ""
            text = f"{failing.height} of {counted} offsets hold one message for some and another for others{told}"
            evidence = failing.head(EVIDENCE_MAX).to_dicts()
            return Verdict.failed(text, counted=counted, found=failing.height, evidence=evidence)
        doubts = [*message_doubts(history), *tape_doubts(history, "consume")]
        if doubts:
            return Verdict.unknown(tell(doubts), counted=counted, evidence=[doubt.evidence for doubt in doubts])
        told = f"; {labelled.height} disputed as the settings permit" if labelled.height else ""
        return Verdict.passed(f"{counted} offsets each name one message{told}", counted=counted)


def disputed(history: History, partition: TopicPartition) -> pl.DataFrame:
    """One row per (offset, name) where an offset has several names, with all who gave that name: the column `by`."""
    return _disputed(_named(history, partition, _doubtful(history, partition)), partition)


def _doubtful(history: History, partition: TopicPartition) -> pl.Expr:
    """Whether a row lies at an offset to which somebody gave another name than the audit, or the audit none or two."""
    if not is_key(history.records(partition)["offset"]):
        return pl.lit(value=True)
    acked, reads = acknowledged(history, partition), history.reads(partition)
    by_ack = acked.filter(acknowledged_at(history, partition).is_null())["offset"]
    by_reader = reads.filter(read_at(history, partition).is_null())["offset"]
    return pl.col("offset").is_in(pl.concat([by_ack, by_reader]).unique().implode(), nulls_equal=True)


def _agreed(history: History, partition: TopicPartition, doubtful: pl.Expr) -> int:
    """How many offsets the audit names beyond doubt."""
    return history.records(partition).filter((pl.col("state") != PayloadState.TORN) & ~doubtful).height


def _named(history: History, partition: TopicPartition, doubtful: pl.Expr) -> pl.DataFrame:
    """Every name that anybody gave to a doubtful offset, and who did, by offset. Without an offset nothing is named."""
    place = history.header.topic(partition.topic).index
    acked = acknowledged(history, partition).filter(pl.col("offset").is_not_null() & doubtful)
    by_ack = acked.select(
        "offset",
        pl.lit(PayloadState.OURS.value, dtype=pl.UInt8).alias("state"),
        *IDENTITY,
        pl.lit(place, dtype=pl.Int32).alias("sent_topic"),
        pl.lit(partition.partition, dtype=pl.Int32).alias("sent_partition"),
        pl.lit("acknowledgement", dtype=_BY).alias("by"),
    )
    whole = (pl.col("state") != PayloadState.TORN) & doubtful
    by_reader = history.reads(partition).filter(whole).select("offset", *_NAME, by=pl.lit("consumer", dtype=_BY))
    by_audit = history.records(partition).filter(whole).select("offset", *_NAME, by=pl.lit("audit", dtype=_BY))
    # Records of others have no name of ours: they may carry nulls or zeros, by whoever decoded them.
    nameless = pl.col("state") != PayloadState.OURS
    plain = [pl.when(nameless).then(None).otherwise(pl.col(part)).alias(part) for part in _NAME[1:]]
    return pl.concat([by_audit, by_ack, by_reader]).with_columns(plain).sort("offset", maintain_order=True)


def _disputed(named: pl.DataFrame, partition: TopicPartition) -> pl.DataFrame:
    """One row per (offset, name) where an offset has several names, with all who gave that name."""
    differing = named.filter(repeated(["offset"]) & ~repeated(_NAME))
    if differing.is_empty():
        return differing
    disputed = named.join(differing, on="offset", how="semi")
    return disputed.group_by("offset", *_NAME).agg(
        pl.lit(str(partition)).alias("partition"), pl.col("by").cast(pl.String).unique(maintain_order=True)
    )


def _labelled(disputed: pl.DataFrame, history: History, partition: TopicPartition) -> pl.DataFrame:
    """One row per disputed offset. It is permitted when every name that the log does not hold was promised nothing."""
    promised = promises(history.header, partition.topic)
    ousted = ~pl.col("by").list.contains("audit")
    message = pl.format("{}.{}:{}", *IDENTITY).fill_null("a record of others")
    told = pl.format("{} by {}", message, pl.col("by").list.join(", "))
    forbidden = (ousted & (pl.col("label") != PERMITTED)).any()
    return (
        label(disputed, promised, "keeps")
        .group_by("partition", "offset")
        .agg(
            told.sort().alias("named"),
            pl.when(forbidden).then(pl.lit("forbidden")).otherwise(pl.lit(PERMITTED)).alias("label"),
        )
        .sort("offset")
    )
