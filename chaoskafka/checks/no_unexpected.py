"""`no_unexpected`: the log and its readers hold nothing of ours that was not sent there, and nothing broken.

In: the audit, the consumers' reads and the tapes' sends, partition by partition. Out: a verdict. Records of others on
a shared topic, and whole records of other runs, are counted and left alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from chaoskafka.history.doubt import message_doubts, tape_doubts, tell
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.places import SEEN, is_key, lacking, read_at, vouched_for
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.tape import Outcome
from chaoskafka.history.views import IDENTITY, INCARNATION, in_place, repeated, silent_workers, torn_tapes
from chaoskafka.verdict import EVIDENCE_MAX, Verdict

_NEVER_SENT = "never sent"
_REFUSED = "refused before it left the client"
_MISPLACED = "sent to another topic or partition"
_BROKEN = "broken checksum or size"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoUnexpected:
    """Every record of ours was sent, to this very partition, and is whole."""

    def check(self, history: History) -> Verdict:
        counted, strangers, found = 0, 0, []
        torn, silent = torn_tapes(history), silent_workers(history, "produce")
        for partition in history.partitions:
            seen = _seen(history, partition)
            unexpected = _unexpected(seen, history, partition)
            if not unexpected.is_empty():
                found.append(_provable(unexpected, torn, silent))
            counted += seen.height
            strangers += seen.filter(pl.col("state").is_in([PayloadState.FOREIGN, PayloadState.OTHER_RUN])).height
        if found and not (unexpected := pl.concat(found)).is_empty():
            shown = unexpected.drop("state").head(EVIDENCE_MAX).to_dicts()
            text = f"{unexpected.height} of {counted} records should not be there"
            return Verdict.failed(text, counted=counted, found=unexpected.height, evidence=shown)
        doubts = [*message_doubts(history), *tape_doubts(history, "consume")]
        if doubts:
            return Verdict.unknown(tell(doubts), counted=counted, evidence=[doubt.evidence for doubt in doubts])
        told = f"; {strangers} records of others" if strangers else ""
        return Verdict.passed(
            f"all {counted - strangers} records of ours were sent where they lie{told}", counted=counted
        )


def _seen(history: History, partition: TopicPartition) -> pl.DataFrame:
    """The records that the audit or a consumer found, by offset, with who saw them; what both saw stands there once."""
    vouched = vouched_for(history, partition)
    audited = history.records(partition).select(*SEEN, seen_by=pl.lit("audit"), vouched=vouched)
    reads = history.reads(partition)
    # Where nobody read anything but what the audit has, the audit speaks for all.
    apart = reads.filter(read_at(history, partition).is_null())["offset"].unique()
    beside = reads.filter(pl.col("offset").is_in(apart.implode(), nulls_equal=True))
    read = beside.select(*SEEN, seen_by=pl.lit("a consumer"), vouched=pl.lit(value=False))
    if read.is_empty() and is_key(audited["offset"]):
        return audited
    # Stable, so that of two equal records the audit's stays. Foreign records carry nulls: null must equal null here.
    return pl.concat([audited, read]).sort("offset", maintain_order=True).filter(~repeated(SEEN))


def _unexpected(seen: pl.DataFrame, history: History, partition: TopicPartition) -> pl.DataFrame:
    odd = _odd(seen, history, partition)
    if odd.is_empty():
        return odd
    ours = pl.col("state") == PayloadState.OURS
    sent = history.sends(partition).select(*IDENTITY, refused=pl.col("outcome") == Outcome.REJECTED)
    # After the left join `refused` is null exactly where no send has that identity.
    why = (
        pl.when(pl.col("state") == PayloadState.TORN)
        .then(pl.lit(_BROKEN))
        .when(ours & ~in_place(history, partition))
        .then(pl.lit(_MISPLACED))
        .when(ours & pl.col("refused").is_null())
        .then(pl.lit(_NEVER_SENT))
        .when(ours & pl.col("refused"))
        .then(pl.lit(_REFUSED))
    )
    return (
        odd.join(sent, on=IDENTITY, how="left", maintain_order="left")
        .with_columns(why=why)
        .filter(pl.col("why").is_not_null())
        .unique(SEEN, keep="first", maintain_order=True)
        .select("why", pl.lit(str(partition)).alias("partition"), *SEEN, "seen_by")
    )


def _odd(seen: pl.DataFrame, history: History, partition: TopicPartition) -> pl.DataFrame:
    """All but what nearly everything is: a message of ours in its place that its client accepted."""
    right = in_place(history, partition)
    accepted = history.sends(partition).filter(pl.col("outcome") != Outcome.REJECTED)
    unsent = lacking(seen.filter(right & ~pl.col("vouched")), accepted)
    return pl.concat([seen.filter(~right), unsent])


def _provable(unexpected: pl.DataFrame, torn: pl.DataFrame, silent: list[int]) -> pl.DataFrame:
    """Without the claims that a message was never sent, where the tape that could tell is torn or missing."""
    claims = unexpected.filter(pl.col("why") == _NEVER_SENT)
    provable = claims.join(torn, on=INCARNATION, how="anti").filter(~pl.col("producer").is_in(silent))
    return pl.concat([unexpected.filter(pl.col("why") != _NEVER_SENT), provable]).sort("offset")
