"""`all_delivered`: every record that a group could see was given to one of its members.

In: the audit and the consumers' reads, partition by partition. Out: a verdict. The group begins at the log start, as
`auto.offset.reset=earliest` on a new topic has it; a record skipped by a silent reset counts as never delivered.
Records delivered more than once are counted and told.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from chaoskafka.history.doubt import Doubt, Reason, audit_doubts, load_doubts, tape_doubts, tell
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.places import marked, read_at
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition
from chaoskafka.history.views import IDENTITY, Group, delivered_to, groups, in_batches, loaded
from chaoskafka.verdict import EVIDENCE_MAX, Verdict

_EARLIEST = ("earliest", "smallest", "beginning")
_RECORD = ("offset", "state", *IDENTITY)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllDelivered:
    """Every record from a group's start on was delivered to some member of the group."""

    def check(self, history: History) -> Verdict:
        counted, again, found, doubts = 0, 0, [], []
        for group in groups(history):
            excuses = _excuses(history, group)
            doubts += excuses
            for partition in [p for p in history.partitions if p.topic == group.topic]:
                visible, unread = _visible(history, partition)
                doubts += unread
                missed = _missed(visible, history, group, partition)
                counted += visible.height
                offsets = delivered_to(group, history.reads(partition))["offset"]
                again += len(offsets) - offsets.n_unique()
                if not excuses and not missed.is_empty():
                    found.append(_described(missed, group, partition))
        if found:
            missed = pl.concat(found)
            text = f"{missed.height} of {counted} records were never delivered to their group"
            evidence = missed.head(EVIDENCE_MAX).to_dicts()
            return Verdict.failed(text, counted=counted, found=missed.height, evidence=evidence)
        doubts += [*_shared_doubts(history)]
        if doubts:
            return Verdict.unknown(tell(doubts), counted=counted, evidence=[doubt.evidence for doubt in doubts])
        told = f"; {again} deliveries were repeats" if again else ""
        return Verdict.passed(f"all {counted} records were delivered{told}", counted=counted)


def undelivered(history: History, group: Group, partition: TopicPartition) -> pl.DataFrame:
    """The records that no member of the group was given, at that offset and with that content."""
    return _missed(_visible(history, partition)[0], history, group, partition)


def _missed(visible: pl.DataFrame, history: History, group: Group, partition: TopicPartition) -> pl.DataFrame:
    """Most were read just as the audit has them; each of the few others is looked for among what was read otherwise."""
    reads = history.reads(partition).with_columns(row=read_at(history, partition))
    delivered = _comparable(delivered_to(group, reads))
    given = marked(history.records(partition), delivered["row"])
    rest = visible.filter(~given.gather(visible["row"]))
    others = delivered.filter(pl.col("row").is_null())
    return rest.join(others, on=_RECORD, how="anti", nulls_equal=True, maintain_order="left")


def _comparable(records: pl.DataFrame) -> pl.DataFrame:
    """Records of others have no identity: whatever stands there is made null, and null equals null here.

    `row`: of a record its own, of a read that of the same record, where it is the same.
    """
    nameless = pl.col("state") != PayloadState.OURS
    return records.select(
        "row",
        "offset",
        "state",
        *(pl.when(nameless).then(None).otherwise(pl.col(part)).alias(part) for part in IDENTITY),
    )


def _visible(history: History, partition: TopicPartition) -> tuple[pl.DataFrame, list[Doubt]]:
    """The records that a reader of the whole log is given; none of them where the audit cannot say."""
    records = history.records(partition).with_row_index("row")
    end = history.ends.get(partition)
    if end is None or not end.whole:
        return _comparable(records.clear()), []  # named by the doubts about the audit
    batches = history.batches(partition)
    if batches["control"].is_null().all() and not batches["transactional"].any():
        return _comparable(records), []  # every record is a message, so none needs its batch to tell
    placed = in_batches(records, batches)
    if placed["transactional"].any():
        why = "it holds transactions, and which of them a reader sees is not judged"
        return _comparable(records.clear()), [Doubt(Reason.NOT_COVERED, str(partition), why)]
    return _comparable(placed.filter(pl.col("control").is_null())), []


def _excuses(history: History, group: Group) -> list[Doubt]:
    """Why a record that no tape shows may have been delivered to this group, or was not missed through Kafka."""
    found = []
    if group.reset not in _EARLIEST:
        why = f"auto.offset.reset is {group.reset!r}, so where it began is not known"
        found.append(Doubt(Reason.NOT_COVERED, f"group {group.name}", why))
    members = [report for report in history.workers if report.worker in group.members]
    silent = set(group.members) - {report.worker for report in members}
    found += [Doubt(Reason.TAPE_MISSING, f"worker {worker}", "it left no report") for worker in sorted(silent)]
    for member in members:
        name = f"worker {member.worker}.{member.incarnation}"
        if not member.tape_whole:
            found.append(Doubt(Reason.TAPE_TORN, name, "its tape is not whole"))
        if member.crash is not None or member.out_of_memory:
            why = "it ran out of memory" if member.out_of_memory else "it ended by an exception of ours"
            found.append(Doubt(Reason.OUR_OWN_FAILURE, name, why))
    return found


def _shared_doubts(history: History) -> list[Doubt]:
    return [*audit_doubts(history, loaded(history)), *tape_doubts(history, "produce"), *load_doubts(history)]


def _described(missed: pl.DataFrame, group: Group, partition: TopicPartition) -> pl.DataFrame:
    return missed.sort("offset").select(
        pl.lit(group.name).alias("group"), pl.lit(str(partition)).alias("partition"), "offset", *IDENTITY
    )
