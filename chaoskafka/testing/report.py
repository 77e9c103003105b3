"""What a test may ask of its verified traffic: figures, each judged by a check. In: a result and its history.

A figure is there only if its check could say it: asking for one that is unknown raises Inconclusive, as `verify` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from chaoskafka.checks.new_leader import sight_doubts, sights_of
from chaoskafka.checks.unavailable import gap_doubts
from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import Doubt, tell
from chaoskafka.history.read import History, open_history
from chaoskafka.history.tables import TopicPartition
from chaoskafka.report.as_text import as_text
from chaoskafka.report.result import CheckResult, Result
from chaoskafka.scenario.catalogue import Kind, find
from chaoskafka.scenario.model import ALWAYS_ON
from chaoskafka.testing.handled import Handled
from chaoskafka.testing.outcomes import Inconclusive
from chaoskafka.timing.leadership import answers
from chaoskafka.timing.times import FaultTimes, Gap
from chaoskafka.verdict import Answer, Verdict

LED_MAX = 8  # partitions whose leaders are told; evidence of one check has at most 20 rows
CHANGES_MAX = 12  # of one partition's leadership
WIDTH = 110  # of the text, which pytest indents


@dataclass(frozen=True)
class Report:
    """`traffic.verify()` passed. `result` is that of `result.json`."""

    result: Result
    run_dir: Path
    application: Handled | None = None  # what the application made of it, where `seen` was given
    _verdicts: dict[str, Verdict] = field(default_factory=dict, repr=False)

    @cached_property
    def history(self) -> History:
        """Everything that was recorded, as tables."""
        return open_history(self.run_dir)

    @property
    def acknowledged(self) -> int:
        """Messages that a client was told are stored."""
        return self._verdict("no_lost_acknowledged").counted

    @property
    def lost(self) -> int:
        """Acknowledged messages that are nowhere in the log."""
        return self._verdict("no_lost_acknowledged").found

    @property
    def duplicated(self) -> int:
        """Messages that lie at two offsets of the log."""
        return self._verdict("no_duplicates").found

    @property
    def reordered(self) -> int:
        """Acknowledged messages whose offsets are not in the order of sending."""
        return self._verdict("ordered").found

    @property
    def faults(self) -> tuple[FaultTimes, ...]:
        """Failover times of each fault, partition by partition, as intervals."""
        return self.result.faults

    @property
    def unavailable_s(self) -> float:
        """The longest time that any client had no success on any partition over a fault: the interval's upper end.

        Infinite where none came any more. Raises Inconclusive when it was not measured.
        """
        gaps: list[Gap] = [gap for fault in self.faults for p in fault.partitions for gap in p.unavailable]
        self._refuse("unavailable_s", gap_doubts(self.history))
        if not gaps:
            raise Inconclusive(f"how long partitions were away was not measured: {self.run_dir}")
        return float("inf") if any(gap.open for gap in gaps) else max(gap.length.hi_s for gap in gaps)

    @property
    def new_leader_s(self) -> float | None:
        """When the last live broker named a new leader, after the deed; None: no fault hit a leader.

        Infinite where one never did. Raises Inconclusive when it was not seen.
        """
        self._refuse("new_leader_s", sight_doubts(self.history))
        return max((sight.seen.hi_s for sight in sights_of(self.history)), default=None)

    def _refuse(self, figure: str, doubts: Sequence[Doubt]) -> None:
        if doubts:
            raise Inconclusive(f"{figure}: {tell(doubts)}\nrun directory  {self.run_dir}")

    def _verdict(self, word: str) -> Verdict:
        """Raises Inconclusive when the check cannot say."""
        if word not in self._verdicts:
            self._verdicts[word] = find(Kind.CHECK, word)().check(self.history)
        verdict = self._verdicts[word]
        if verdict.answer is Answer.UNKNOWN:
            raise Inconclusive(f"{word}: {verdict.summary}\nrun directory  {self.run_dir}")
        return verdict


def story(result: Result, run_dir: Path) -> str:
    """A result for pytest's output: what decided it, the text report, who led the partitions of its evidence."""
    led = list(_who_led(result, open_history(run_dir)))
    text = as_text(result, run_dir, width=WIDTH).rstrip("\n")
    return "\n".join([_headline(result), "", text, *(["", "who led", *led] if led else [])])


def _headline(result: Result) -> str:
    """The first check that answered as the whole: pytest's short summary shows one line."""
    decided = [check for check in result.checks if check.answer is result.answer]
    own = [check for check in decided if check.consequence_of is None] or decided or list(result.checks)
    # That a fault did not take effect is why others know nothing.
    first = next((check for check in own if check.word == ALWAYS_ON and result.answer is Answer.UNKNOWN), own[0])
    return f"{first.word}: {first.summary}"


def _who_led(result: Result, history: History) -> Iterator[str]:
    failing = [check for check in result.checks if check.answer is not Answer.PASS]
    named: dict[TopicPartition, list[Mapping[str, Any]]] = {}
    for check in failing:
        for row in check.evidence:
            for partition in _partitions(row):
                named.setdefault(partition, []).append(row)
    begin_ns = min((event.at_ns for event in history.events), default=0)
    for partition, rows in list(named.items())[:LED_MAX]:
        yield f"  {partition}: {_leaders(history, partition, begin_ns)}"
        yield from _instants(history, partition, rows, begin_ns)


def _partitions(row: Mapping[str, Any]) -> Iterator[TopicPartition]:
    """Those that a row of evidence names: as its partition, or among the words of where it was."""
    for column in ("partition", "where"):
        text = row.get(column)
        for word in text.split(", ") if isinstance(text, str) else ():
            topic, _, number = word.rpartition("/")
            if topic and number.isdecimal():
                yield TopicPartition(topic, int(number))


def _leaders(history: History, partition: TopicPartition, begin_ns: int) -> str:
    changes: list[str] = []
    epoch = -1
    for said in answers(history, partition):
        if said.epoch > epoch:
            epoch = said.epoch
            leader = f"broker {said.leader}" if said.leader >= 0 else "nobody"
            changes.append(f"{leader} (epoch {epoch}) from {(said.hi_ns - begin_ns) / NS_PER_S:.1f} s")
    return ", ".join(changes[-CHANGES_MAX:]) or "the observer never saw a leader"


def _instants(
    history: History, partition: TopicPartition, rows: list[Mapping[str, Any]], begin_ns: int
) -> Iterator[str]:
    """When the messages of the evidence were acknowledged, in seconds since the run began, and who led then."""
    said = answers(history, partition)
    for row in rows[:LED_MAX]:
        at_ns = row.get("acknowledged_ns")
        if isinstance(at_ns, int):
            before = [each for each in said if each.lo_ns <= at_ns]
            newest = max(before, key=lambda each: (each.epoch, each.hi_ns), default=None)
            leader = f"led by broker {newest.leader} (epoch {newest.epoch})" if newest else "leader not seen"
            sent = f"producer {row.get('producer')} message {row.get('sequence')}"
            yield f"    {sent}: acknowledged at {(at_ns - begin_ns) / NS_PER_S:.2f} s, {leader}"


def failing(result: Result) -> list[CheckResult]:
    """The checks that failed."""
    return [check for check in result.checks if check.answer is Answer.FAIL]
