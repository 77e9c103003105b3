"""Audits all partitions of the topics under test, and writes down what it found.

In: the brokers, the topics, the run's number. Out: `audit/record/`, `audit/batch/`, `audit/ends.json` in the run
directory. A partition is settled, read, and looked at once more: one whose end or leader moved meanwhile is done again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from chaoskafka.audit.reader import PartitionReader, Reading
from chaoskafka.audit.settle import Ending, endings, settle
from chaoskafka.clock import Clock, Deadline
from chaoskafka.cluster.sights import Partition
from chaoskafka.cluster.views import Views
from chaoskafka.history.header import TopicFacts
from chaoskafka.history.tables import AuditedEnd, TopicPartition, write_table

AUDIT_S = 300.0  # reads about 100,000 records a second
PASSES_MAX = 3  # each costs a full reading; leadership that moves more often than this is not at rest
SETTLE_SHARE = 0.5  # of the time that is left; the rest is for reading


def audit(
    run_dir: Path, views: Views, topics: Sequence[TopicFacts], *, run: int, within_s: float, clock: Clock
) -> list[AuditedEnd]:
    """Read every partition of `topics` from its log start to a settled end, and write the tables. Blocks.

    `run` is `identity.run_number(run_id)`. What cannot be read is an AuditedEnd that says why. Raises only Interrupted
    (by the clock) and OSError (the run directory cannot be written).
    """
    work = _Audit(run_dir, views, topics, run, clock, Deadline.after(within_s, clock))
    pending: list[Partition] = [(topic.name, number) for topic in topics for number in range(topic.partitions)]
    ends: dict[Partition, AuditedEnd] = {}
    for _ in range(PASSES_MAX):
        ends |= work.one_pass(pending)
        work.write_ends(ends)
        pending = [partition for partition in pending if not ends[partition].whole]
        if not pending or work.deadline.left_s(clock) <= 0:
            break
    return [ends[partition] for partition in sorted(ends)]


@dataclass(frozen=True, slots=True)
class _Audit:
    run_dir: Path
    views: Views
    topics: Sequence[TopicFacts]
    run: int
    clock: Clock
    deadline: Deadline

    def one_pass(self, wanted: Sequence[Partition]) -> dict[Partition, AuditedEnd]:
        """Settle, read and verify the wanted partitions."""
        settle_s = self.deadline.left_s(self.clock) * SETTLE_SHARE
        settled = settle(self.views, self.topics, wanted, within_s=settle_s, clock=self.clock)
        found = {partition: self._read(partition, ending) for partition, ending in settled.items()}
        return self._verify(settled, found)

    def _read(self, partition: Partition, ending: Ending) -> AuditedEnd:
        with PartitionReader(self.views, partition, ending, self.clock) as reader:
            reading = reader.read(self.run, self.deadline)
        self._write_tables(TopicPartition(*partition), reading)
        problem = ending.problem or reading.problem
        return AuditedEnd(
            topic=partition[0],
            partition=partition[1],
            log_start=ending.log_start,
            end=ending.end,
            read_to=reading.read_to,
            settled=problem is None,
            reason=problem or "",
            leader=ending.leader,
            leader_epoch=ending.leader_epoch,
        )

    def _verify(
        self, settled: Mapping[Partition, Ending], found: Mapping[Partition, AuditedEnd]
    ) -> dict[Partition, AuditedEnd]:
        """Nothing may have moved while it was read."""
        now = endings(self.views, self.topics, [partition for partition, end in found.items() if end.whole])
        moved = {partition: seen for partition, seen in now.items() if seen != settled[partition]}
        return {
            **found,
            **{
                partition: replace(
                    found[partition],
                    settled=False,
                    reason=seen.problem
                    or f"while it was read, its end moved from {found[partition].end} to {seen.end}"
                    f" (epochs {found[partition].leader_epoch}, {seen.leader_epoch})",
                )
                for partition, seen in moved.items()
            },
        }

    def _write_tables(self, partition: TopicPartition, reading: Reading) -> None:
        for kind, frame in (("record", reading.tables.records()), ("batch", reading.tables.batches())):
            directory = self.run_dir / "audit" / kind
            directory.mkdir(parents=True, exist_ok=True)
            write_table(frame, directory / partition.file)

    def write_ends(self, ends: Mapping[Partition, AuditedEnd]) -> None:
        """After every pass: what is known survives a harness that is killed in the next one."""
        path = self.run_dir / "audit" / "ends.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([asdict(ends[partition]) for partition in sorted(ends)], indent=1) + "\n")
