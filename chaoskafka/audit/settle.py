"""Where a partition ends, and whether that end can be trusted.

In: the brokers, and the topics under test. Out: an `Ending` per partition. An end is settled when the partition is led,
in sync with at least min.insync.replicas, by a leader whose epoch all brokers that answer agree on; when nothing lies
in its log beyond the high watermark; and when two readings some 100 ms apart are equal. That producers are reaped is
the caller's duty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from chaoskafka.clock import Clock, wait_until
from chaoskafka.cluster import sights
from chaoskafka.cluster.sights import NO_LEADER, BrokerView, Partition, PartitionView
from chaoskafka.cluster.views import Views
from chaoskafka.cluster.wire import asks
from chaoskafka.cluster.wire.connection import Connection
from chaoskafka.errors import NoAnswer, WaitTimeout
from chaoskafka.history.header import TopicFacts

READINGS_APART_S = 0.3  # longer than a follower's fetch takes to move the high watermark, even on a busy machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """One reading of a partition's bounds. `problem` None: nothing speaks against it."""

    topic_id: str
    leader: int
    leader_epoch: int
    log_start: int
    end: int
    problem: str | None


def settle(
    views: Views, topics: Sequence[TopicFacts], wanted: Iterable[Partition], *, within_s: float, clock: Clock
) -> dict[Partition, Ending]:
    """The ending of each wanted partition; one that did not settle in time says why. Blocks."""
    asked = list(wanted)
    before: dict[Partition, Ending] = {}
    judged: dict[Partition, Ending] = {}

    def reading() -> dict[Partition, Ending]:
        nonlocal before, judged
        now = endings(views, topics, asked)
        judged = {partition: _compare(before.get(partition), seen) for partition, seen in now.items()}
        before = now
        return judged

    with suppress(WaitTimeout):
        wait_until(
            "settled ends",
            read=reading,
            good=lambda seen: all(ending.problem is None for ending in seen.values()),
            within_s=within_s,
            every_s=READINGS_APART_S,
            clock=clock,
        )
    return judged


def _compare(before: Ending | None, now: Ending) -> Ending:
    if now.problem is not None or before == now:
        return now
    if before is None or before.problem is not None:
        return replace(now, problem="its end was read only once")
    epochs = f"epochs {before.leader_epoch}, {now.leader_epoch}"
    return replace(now, problem=f"its end moved from {before.end} to {now.end} ({epochs})")


def endings(views: Views, topics: Sequence[TopicFacts], wanted: Sequence[Partition]) -> dict[Partition, Ending]:
    """One reading of each wanted partition. Blocks."""
    facts = {topic.name: topic for topic in topics}
    answers = views.ask_all([topic.name for topic in topics])
    current = sights.leadership(answers)
    found = {p: _known(p, current.get(p), facts[p[0]], answers) for p in wanted}
    by_leader: dict[int, list[Partition]] = {}
    for partition, ending in found.items():
        if ending.leader in views.addresses:
            by_leader.setdefault(ending.leader, []).append(partition)
    for leader, led in by_leader.items():
        try:
            with views.connect(leader) as connection:
                for topic in sorted({topic for topic, _ in led}):
                    of_topic = {number: found[topic, number] for name, number in led if name == topic}
                    found |= _bounds(connection, topic, of_topic)
        except NoAnswer as silence:
            found |= {p: replace(found[p], problem=str(silence)) for p in led}
    return found


def _known(
    partition: Partition, seen: PartitionView | None, facts: TopicFacts, answers: Sequence[BrokerView]
) -> Ending:
    """What the brokers' views say for or against an end."""
    if seen is None:
        silent = "; ".join(f"broker {v.broker}: {v.error}" for v in answers if not v.reachable)
        return Ending(
            topic_id="", leader=NO_LEADER, leader_epoch=-1, log_start=0, end=0, problem=f"no broker knows it; {silent}"
        )
    problem = None
    if facts.topic_id and seen.topic_id != facts.topic_id:
        problem = f"the topic is another one now: id {seen.topic_id}, at the start {facts.topic_id}"
    elif seen.leader == NO_LEADER:
        problem = f"no leader in epoch {seen.leader_epoch}"
    elif len(seen.isr) < facts.min_insync_replicas:
        problem = f"isr {list(seen.isr)} is below min.insync.replicas {facts.min_insync_replicas}"
    else:
        problem = next((text for where, text in sights.disagreements(answers) if where == partition), None)
    return Ending(
        topic_id=seen.topic_id,
        leader=seen.leader,
        leader_epoch=seen.leader_epoch,
        log_start=0,
        end=0,
        problem=problem,
    )


def _bounds(connection: Connection, topic: str, led: Mapping[int, Ending]) -> dict[Partition, Ending]:
    """Log start, high watermark and log end, as the leader says that leads in that epoch. Raises NoAnswer."""
    epochs = {number: ending.leader_epoch for number, ending in led.items()}
    starts = _offsets(connection, topic, epochs, asks.EARLIEST)
    ends = _offsets(connection, topic, epochs, asks.LATEST)
    log_ends = {
        int(p.partition): int(p.end_offset) if not p.error_code else p.error_code.name
        for answered in connection.ask(asks.offset_for_leader_epoch(topic, epochs)).topics
        for p in answered.partitions
    }
    return {
        (topic, number): _bound(ending, starts.get(number), ends.get(number), log_ends.get(number))
        for number, ending in led.items()
    }


def _bound(ending: Ending, start: int | str | None, end: int | str | None, log_end: int | str | None) -> Ending:
    if not isinstance(start, int) or not isinstance(end, int) or not isinstance(log_end, int):
        refused = next(answer for answer in (start, end, log_end) if not isinstance(answer, int))
        return replace(ending, problem=ending.problem or f"broker {ending.leader} as leader: {refused or 'no answer'}")
    bounded = replace(ending, log_start=start, end=end)
    if log_end != end and ending.problem is None:
        return replace(bounded, problem=f"its log ends at {log_end}, its high watermark is {end}")
    return bounded


def _offsets(connection: Connection, topic: str, epochs: Mapping[int, int], which: int) -> dict[int, int | str]:
    answer = connection.ask(asks.list_offsets(topic, epochs, which))
    return {
        int(p.partition_index): int(p.offset) if not p.error_code else p.error_code.name
        for answered in answer.topics
        for p in answered.partitions
    }
