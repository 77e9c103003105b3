"""Many records begun and completed at once: as if one by one, at whatever instant the writer was killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tape_headers import tape_header

from chaoskafka.errors import HarnessError
from chaoskafka.history.tape import BEGUN_AT_ONCE_MAX, RECORD, RECORD_BYTES, Kind, Outcome
from chaoskafka.history.tape_reader import read_tape
from chaoskafka.history.tape_writer import TapeWriter, segment_path
from tests.properties import examples

bursts = st.lists(st.integers(1, 12), min_size=1, max_size=8)


@given(bursts=bursts, per_segment=st.integers(1, 7), done=st.data(), close=st.booleans())
@examples(15)
def test_the_same_tape_as_one_by_one(bursts: list[int], per_segment: int, done: st.DataObject, close: bool) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as many:
        header = tape_header(segment_bytes=per_segment * RECORD_BYTES)
        single, burst = TapeWriter(Path(one), header), TapeWriter(Path(many), header)
        pending: list[int] = []
        for number, count in enumerate(bursts):
            partitions = np.arange(count) % 3
            sequences = np.arange(count) // 3 + 100 * number
            first = burst.begin_sends(1, partitions, sequences, 5 + number, 44)
            slots = [
                single.begin_send(1, partition, sequence, 5 + number, 44)
                for partition, sequence in zip(partitions.tolist(), sequences.tolist(), strict=True)
            ]
            assert list(range(first, first + count)) == slots
            pending += slots
            ended = done.draw(st.lists(st.sampled_from(pending), unique=True)) if pending else []
            if ended:
                complete(burst, ended, number)
                for slot in ended:
                    outcome, code = ending(slot)
                    single.complete(slot, outcome, end_ns=number, offset=slot * 2, a=slot * 3, code=code)
            pending = [slot for slot in pending if slot not in ended]
            assert (burst.used, burst.unfinished) == (single.used, single.unfinished)
        if close:
            single.close()
            burst.close()
        assert (read_tape(Path(one)).records == read_tape(Path(many)).records).all()
        assert read_tape(Path(many)).header == read_tape(Path(one)).header
        single.close()
        burst.close()


def ending(slot: int) -> tuple[Outcome, int]:
    return (Outcome.INDETERMINATE, -192) if slot % 4 == 3 else (Outcome.ACKNOWLEDGED, 0)


def complete(tape: TapeWriter, slots: list[int], end_ns: int) -> None:
    where = np.array(slots)
    tape.complete_sends(
        where,
        np.array([ending(slot)[0] for slot in slots], dtype=np.uint8),
        end_ns=end_ns,
        offsets=where * 2,
        latencies_ns=where * 3,
        codes=np.array([ending(slot)[1] for slot in slots]),
    )


@pytest.mark.parametrize("wrong", [[0, 1, 1], [2, 3], [-1, 0], [4, 7], [6]])
def test_what_cannot_be_completed_changes_nothing(tmp_path: Path, wrong: list[int]) -> None:
    """Twice at once, completed before, never begun (before and behind), and no send."""
    with TapeWriter(tmp_path, tape_header(segment_bytes=20 * RECORD_BYTES)) as tape:
        tape.begin_sends(0, np.zeros(6, dtype=int), np.arange(6), 5, 44)
        tape.begin(Kind.ERROR)
        complete(tape, [3], 9)
        with pytest.raises(HarnessError):
            complete(tape, wrong, 10)
        assert tape.unfinished == 5
    read = read_tape(tmp_path)
    assert np.flatnonzero(read.records["outcome"]).tolist() == [3]


def test_more_at_once_than_a_reader_expects_are_refused(tmp_path: Path) -> None:
    many = np.arange(BEGUN_AT_ONCE_MAX + 1)
    with TapeWriter(tmp_path, tape_header()) as tape, pytest.raises(HarnessError, match="at once"):
        tape.begin_sends(0, many * 0, many, 5, 44)


def half_begun(directory: Path, *slots: int, **fields: int) -> list[str]:
    """The flaws of a tape with one record, and behind it these slots half written."""
    given = {"sequence": 1, "begin_ns": 7, "end_ns": 0, "offset": 0, "outcome": 0, **fields}
    record = RECORD.pack(
        Kind.UNUSED, given["outcome"], 0, 0, 0, 0, 0, given["sequence"], given["begin_ns"], given["end_ns"],
        given["offset"], 0, 44, -1, 0,
    )  # fmt: skip
    with TapeWriter(directory, tape_header(segment_bytes=(BEGUN_AT_ONCE_MAX + 20) * RECORD_BYTES)) as tape:
        tape.begin(Kind.SEND)
        with segment_path(directory, 0).open("r+b") as segment:
            for slot in slots:
                segment.seek(slot * RECORD_BYTES)
                segment.write(record)
        return list(read_tape(directory).flaws)


def test_a_burst_that_was_being_begun_is_not_there_yet(tmp_path: Path) -> None:
    assert half_begun(tmp_path, *range(1, 1 + BEGUN_AT_ONCE_MAX)) == []


@pytest.mark.parametrize(
    ("slots", "fields"),
    [
        (range(1, 2 + BEGUN_AT_ONCE_MAX), {}),  # longer than a burst
        ((1, 2, 4), {}),  # with a gap
        ((1, 2), {"begin_ns": 0}),
        ((1, 2), {"outcome": 1}),
        ((1, 2), {"end_ns": 9}),
        ((1, 2), {"offset": 3}),
    ],
)
def test_what_no_burst_leaves_is_a_flaw(tmp_path: Path, slots: tuple[int, ...], fields: dict[str, int]) -> None:
    (flaw,) = half_begun(tmp_path, *slots, **fields)
    assert "bytes are set behind the end" in flaw


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import numpy as np
from tape_headers import tape_header
from chaoskafka.history.tape_writer import TapeWriter
tape = TapeWriter(Path(sys.argv[1]), tape_header(segment_bytes=80 * 1500))
print(flush=True)
done = 0
while True:
    numbers = np.arange(done, done + 1000)
    first = tape.begin_sends(0, numbers % 2, numbers // 2, 1 + done, 44)
    slots = np.arange(first, first + 900)
    tape.complete_sends(slots, np.ones(900, dtype=np.uint8), end_ns=9, offsets=slots, latencies_ns=slots)
    done += 1000
"""


@pytest.mark.parametrize("after_ms", [3, 11, 24])
def test_killed_at_any_instant_the_tape_is_whole_and_no_outcome_lacks_its_fields(tmp_path: Path, after_ms: int) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        threading.Event().wait(after_ms / 1000)
        child.kill()
    read = read_tape(tmp_path)
    assert read.flaws == ()
    ended = read.records[read.records["outcome"] == Outcome.ACKNOWLEDGED]
    assert (ended["offset"] == np.flatnonzero(read.records["outcome"])).all()
    assert (ended["end_ns"] == 9).all()
