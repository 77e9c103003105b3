"""The worker's loops against clients in memory: each thing that a client can do ends truthfully on the tape."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from cases import consume_arguments, produce_arguments
from clients import Answer, MemoryConsumer, MemoryProducer, PauseReally, StopAfter, refuse

from chaoskafka.errors import HarnessError
from chaoskafka.history.identity import Identity, PayloadState, decode, encode, run_number
from chaoskafka.history.tape import FORMAT, Change, Kind, Outcome, TapeHeader
from chaoskafka.history.tape_reader import read_tape
from chaoskafka.history.tape_writer import TapeWriter
from chaoskafka.workloads.worker.arguments import WorkerArguments
from chaoskafka.workloads.worker.client import ClientError, Deliveries, Position, Received
from chaoskafka.workloads.worker.consume_loop import ConsumeLoop
from chaoskafka.workloads.worker.produce_loop import ProduceLoop
from chaoskafka.workloads.worker.report import ClosingReport

RUN = run_number("run")


@pytest.fixture
def tape(tmp_path: Path) -> Iterator[TapeWriter]:
    header = TapeHeader(
        format=FORMAT, run_id="run", worker=1, incarnation=0, role="produce", group=None, topics=("orders",),
        clock="c", segment_bytes=80 * 16,
    )  # fmt: skip
    with TapeWriter(tmp_path, header) as writer:
        yield writer


def produce(
    tape: TapeWriter, fate: Callable[[int], Answer | None], *, pauses: int = 40, **changes: object
) -> tuple[MemoryProducer, ClosingReport, ProduceLoop, bool]:
    report = ClosingReport(worker=1, incarnation=0)
    # Due at once and without end: every turn of the loop sends a full burst, however slow the machine is.
    arguments: WorkerArguments = produce_arguments(**{"rate_per_s": 1e9, "drain_s": 0.05, **changes})
    loop = ProduceLoop(arguments, tape, report)
    client = MemoryProducer(loop, fate)
    drained = loop.run(client, StopAfter(pauses))
    loop.settle()
    assert report.offered == report.refused + report.accepted
    assert report.accepted == report.acknowledged + report.indeterminate
    return client, report, loop, drained


def outcomes(directory: Path, kind: Kind = Kind.SEND) -> list[tuple[int, int]]:
    tape = read_tape(directory)
    assert tape.whole
    return tape.frame(kind).select("outcome", "code").rows()


def test_what_was_sent_is_on_the_tape_in_turn_for_every_partition(tape: TapeWriter, tmp_path: Path) -> None:
    client, report, _, drained = produce(tape, lambda number: (0, number), pauses=2)
    assert drained
    assert report.offered == report.acknowledged == len(client.sent) > 0
    decoded = [decode(RUN, payload) for _, payload in client.sent]
    assert {state for state, _ in decoded} == {PayloadState.OURS}
    sends = read_tape(tmp_path).frame(Kind.SEND).select("partition", "sequence").rows()
    assert sends == [(i % 4, i // 4) for i in range(len(sends))]
    for number in range(4):  # a burst is handed over partition by partition, in turn within each
        handed_over = [who for _, who in decoded if who.partition == number]
        assert [(who.partition, who.sequence) for who in handed_over] == [row for row in sends if row[0] == number]
    assert [partition for partition, _ in client.sent] == [who.partition for _, who in decoded]
    assert {len(payload) for _, payload in client.sent} == {60}


def test_refused_failed_and_acknowledged(tape: TapeWriter, tmp_path: Path) -> None:
    fates = [lambda: refuse(-184), lambda: (-192, -1), lambda: (0, -1)]
    client, report, _, drained = produce(tape, lambda number: fates[number % 3](), pauses=2)
    assert drained
    ends = [(Outcome.REJECTED, -184), (Outcome.INDETERMINATE, -192), (Outcome.ACKNOWLEDGED, 0)]
    found = outcomes(tmp_path)
    called = [decode(RUN, payload)[1] for _, payload in client.sent]
    end_of = {(who.partition, who.sequence): ends[i % 3] for i, who in enumerate(called)}
    places = read_tape(tmp_path).frame(Kind.SEND).select("partition", "sequence").rows()
    assert found == [end_of[place] for place in places]
    assert set(found) == set(ends)
    assert report.refused == found.count(ends[0])
    assert report.indeterminate == found.count(ends[1])
    assert report.acknowledged == found.count(ends[2])


@pytest.mark.parametrize("rate_per_s", [1e9, 200.0])
def test_records_of_errors_between_bursts_shift_no_messages_end(
    tape: TapeWriter, tmp_path: Path, rate_per_s: float
) -> None:
    """At the low rate messages come one by one, at the high one as arrays."""
    report = ClosingReport(worker=1, incarnation=0)
    loop = ProduceLoop(produce_arguments(rate_per_s=rate_per_s, limit_s=0.1), tape, report)
    client = MemoryProducer(loop, lambda number: (0, number))
    error = ClientError(code=-195, text="disconnected", fatal=False)
    sent = client.send

    def send(partition: int, payloads: Sequence[bytes]) -> Sequence[tuple[int, int]]:
        client.failures.append(error)
        return sent(partition, payloads)

    client.send = send  # type: ignore[method-assign]
    assert loop.run(client, PauseReally())
    read = read_tape(tmp_path)
    assert read.frame(Kind.ERROR).height > 0
    numbers = {decode(RUN, payload)[1]: number for number, (_, payload) in enumerate(client.sent)}
    sends = read.frame(Kind.SEND)
    expected = [
        (numbers[Identity(1, 0, 0, partition, sequence)], Outcome.ACKNOWLEDGED)
        for partition, sequence in sends.select("partition", "sequence").rows()
    ]
    assert sends.select("offset", "outcome").rows() == expected
    assert report.acknowledged == len(expected) > 0


def test_what_never_got_a_last_word_stays_pending_and_counts_as_indeterminate(tape: TapeWriter, tmp_path: Path) -> None:
    _, report, _, drained = produce(tape, lambda number: None if number % 2 else (0, number), pauses=2)
    assert not drained
    pending = outcomes(tmp_path).count((Outcome.PENDING, 0))
    assert report.indeterminate == pending > 0


def test_with_acks_0_a_success_is_indeterminate(tape: TapeWriter, tmp_path: Path) -> None:
    _, report, _, _ = produce(tape, lambda _: (0, -1), pauses=2, acks="0")
    assert report.acknowledged == 0
    assert set(outcomes(tmp_path)) == {(Outcome.INDETERMINATE, 0)}


def test_a_fatal_error_ends_the_worker_and_is_kept(tape: TapeWriter, tmp_path: Path) -> None:
    report = ClosingReport(worker=1, incarnation=0)
    loop = ProduceLoop(produce_arguments(rate_per_s=1e9), tape, report)
    client = MemoryProducer(loop, lambda number: (0, number))
    client.failures = [
        ClientError(code=-150, text="out of order", fatal=True),
        ClientError(code=-195, text="disconnected", fatal=False),
    ]
    loop.run(client, StopAfter(10**9))
    assert loop.failed
    assert report.fatal == ["-150: out of order"]
    errors = read_tape(tmp_path).frame(Kind.ERROR)
    assert errors.select("code", "b", "sequence").rows() == [(-195, 0, 0), (-150, 1, 1)]


def test_two_last_words_on_one_message_are_a_bug(tape: TapeWriter) -> None:
    loop = ProduceLoop(produce_arguments(drain_s=0.05), tape, ClosingReport(worker=1, incarnation=0))
    client = MemoryProducer(loop, lambda _: None)
    loop.run(client, StopAfter(1))
    word = Deliveries([client.sent[0][1]], None, [5], [1])
    loop.delivered(word)
    with pytest.raises(HarnessError):
        loop.delivered(word)
    with pytest.raises(HarnessError):
        loop.delivered(Deliveries([payload for _, payload in client.sent], None, [5] * 20, [1] * 20))


def test_the_worker_stops_by_itself_at_its_limit(tape: TapeWriter) -> None:
    _, report, _, drained = produce(tape, lambda number: (0, number), pauses=10**9, limit_s=0.05)
    assert drained
    assert report.offered > 0


def test_lag_is_reported(tape: TapeWriter) -> None:
    _, report, _, _ = produce(tape, lambda number: (0, number), pauses=2)
    assert report.lag_max_ms >= report.lag_p99_ms > 0


def record(offset: int, partition: int = 0) -> Received:
    payload = encode(RUN, Identity(7, 3, 0, partition, offset), 50)
    return Received("orders", partition, offset, 5, payload)


class Group:
    """A consumer's loop on a tape, with what a test wants to ask it."""

    def __init__(self, tape: TapeWriter, **changes: object) -> None:
        self.tape = tape
        arguments = consume_arguments(**{"commit_every_s": 1e-9, "drain_s": 5.0, **changes})
        self.loop = ConsumeLoop(arguments, tape, ClosingReport(worker=2, incarnation=0))

    def play(
        self,
        *script: list[Received] | Callable[[], None],
        fate: Callable[[int], int | None] = lambda _: 0,
        on_commit: Callable[[Sequence[Position]], None] = lambda _: None,
    ) -> MemoryConsumer:
        client = MemoryConsumer(self.loop, list(script), fate, on_commit)
        self.loop.run(client, StopAfter(len(script) + 1))
        return client

    def change(self, change: Change, *partitions: int) -> Callable[[], None]:
        return partial(self.loop.assignment, change, [("orders", partition) for partition in partitions])


def test_reads_are_on_the_tape_with_whose_they_are(tape: TapeWriter, tmp_path: Path) -> None:
    group = Group(tape)
    group.play(group.change(Change.ASSIGNED, 0, 1), [record(0), record(1)], [], [Received("orders", 1, 9, -1, None)])
    read = read_tape(tmp_path)
    assert read.whole
    columns = ("partition", "offset", "code", "sequence", "b", "peer", "peer_incarnation", "a", "peer_place")
    assert read.frame(Kind.READ).select(columns).rows() == [
        (0, 0, PayloadState.OURS, 1, 5, 7, 3, 0, 0),
        (0, 1, PayloadState.OURS, 1, 5, 7, 3, 1, 0),
        (1, 9, PayloadState.FOREIGN, 3, -1, 0, 0, -1, 0xFFFFFFFF),
    ]
    polls = read.frame(Kind.POLL)
    assert polls["offset"].to_list()[:4] == [0, 2, 0, 1]
    assert polls["outcome"].unique().to_list() == [Outcome.ACKNOWLEDGED]


def test_a_commit_covers_only_what_is_on_the_tape(tape: TapeWriter, tmp_path: Path) -> None:
    group = Group(tape)

    def on_commit(positions: Sequence[Position]) -> None:
        reads = read_tape(tmp_path).frame(Kind.READ)
        for _, partition, offset in positions:
            assert offset - 1 in reads.filter(partition=partition)["offset"].to_list()

    client = group.play(
        group.change(Change.ASSIGNED, 0, 1), [record(0), record(0, 1)], [record(1)], [], on_commit=on_commit
    )
    assert client.commits == [[("orders", 0, 1), ("orders", 1, 1)], [("orders", 0, 2)]]
    assert outcomes(tmp_path, Kind.COMMIT) == [(Outcome.ACKNOWLEDGED, 0)] * 3


def test_a_failed_commit_is_indeterminate_and_asked_again(tape: TapeWriter, tmp_path: Path) -> None:
    group = Group(tape)
    client = group.play(
        group.change(Change.ASSIGNED, 0), [record(0)], [], [], [], fate=lambda number: 16 if number == 0 else 0
    )
    assert client.commits == [[("orders", 0, 1)]] * 2
    assert outcomes(tmp_path, Kind.COMMIT) == [(Outcome.INDETERMINATE, 16), (Outcome.ACKNOWLEDGED, 0)]


def test_a_refused_commit_is_indeterminate(tape: TapeWriter, tmp_path: Path) -> None:
    group = Group(tape)
    group.play(group.change(Change.ASSIGNED, 0), [record(0)], fate=lambda _: refuse(-172)[0])
    assert set(outcomes(tmp_path, Kind.COMMIT)) == {(Outcome.INDETERMINATE, -172)}


def test_an_unanswered_commit_stays_pending_and_holds_up_the_next(tape: TapeWriter, tmp_path: Path) -> None:
    group = Group(tape, drain_s=0.05)
    client = group.play(group.change(Change.ASSIGNED, 0), [record(0)], [record(1)], [], fate=lambda _: None)
    # The last one is that of the end.
    assert client.commits == [[("orders", 0, 1)], [("orders", 0, 2)]]
    assert outcomes(tmp_path, Kind.COMMIT) == [(Outcome.PENDING, 0)] * 2


def test_before_a_partition_is_given_back_its_position_is_committed(tape: TapeWriter, tmp_path: Path) -> None:
    group = Group(tape, commit_every_s=1e6)
    client = group.play(
        group.change(Change.ASSIGNED, 0, 1), [record(0), record(0, 1)], group.change(Change.REVOKED, 0), []
    )
    assert client.commits == [[("orders", 0, 1)], [("orders", 1, 1)]]
    changes = read_tape(tmp_path).frame(Kind.ASSIGNMENT).select("partition", "b").rows()
    assert changes == [(0, Change.ASSIGNED), (1, Change.ASSIGNED), (0, Change.REVOKED)]


def test_a_lost_partition_is_not_committed(tape: TapeWriter) -> None:
    group = Group(tape, commit_every_s=1e6)
    client = group.play(group.change(Change.ASSIGNED, 0), [record(0)], group.change(Change.LOST, 0), [])
    assert client.commits == []


def test_a_consumers_fatal_error_ends_it(tape: TapeWriter, tmp_path: Path) -> None:
    group = Group(tape)
    error = ClientError(code=82, text="fenced", fatal=True)
    client = MemoryConsumer(group.loop, [partial(group.loop.failed_with, error)])
    group.loop.run(client, StopAfter(10**9))
    assert group.loop.failed
    assert read_tape(tmp_path).frame(Kind.POLL).select("outcome", "code").rows() == [(Outcome.INDETERMINATE, 82)]


REFUSED = ClientError(code=29, text="not allowed", fatal=False, refused=True)


def test_the_first_refusal_is_on_the_status_line(tape: TapeWriter, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = produce_arguments(rate_per_s=0.001, drain_s=0.05)
    producer = ProduceLoop(arguments, tape, ClosingReport(worker=1, incarnation=0))
    client = MemoryProducer(producer, lambda number: (0, number))
    client.failures = [replace(REFUSED, text="again"), REFUSED]
    producer.run(client, StopAfter(2))
    producer.show_closed()
    group = Group(tape)
    group.play(partial(group.loop.failed_with, REFUSED))
    group.loop.show_closed()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["refusal"] for line in lines if line["state"] == "closed"] == ["not allowed", "not allowed"]
    assert not producer.failed, "a refusal may pass: it is told, and the client goes on trying"
