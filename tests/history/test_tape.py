"""The tape: what is written is read, at whatever instant the writer was killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tape_headers import tape_header

from chaoskafka.errors import EnvironmentFailure, HarnessError, HistoryError
from chaoskafka.history.tape import FIELDS, KIND_AT, RECORD_BYTES, Kind, Outcome, TapeHeader
from chaoskafka.history.tape_reader import Tape, read_tape
from chaoskafka.history.tape_writer import TapeWriter, segment_path
from tests.properties import examples

I64 = st.integers(-(2**63), 2**63 - 1)
I32 = st.integers(-(2**31), 2**31 - 1)
U16 = st.integers(0, 2**16 - 1)
INSTANT_KINDS = (Kind.READ, Kind.ASSIGNMENT, Kind.ERROR)
OUTCOMES = (Outcome.ACKNOWLEDGED, Outcome.REJECTED, Outcome.INDETERMINATE)

free_fields = st.fixed_dictionaries(
    {
        "topic": st.integers(0, 1),
        "partition": I32,
        "code": I32,
        "peer": U16,
        "peer_incarnation": U16,
        "begin_ns": I64,
        "end_ns": I64,
        "offset": I64,
        "a": I64,
        "b": I64,
        "txn": I64,
        "peer_place": I64,
    }
)
begins = st.tuples(st.sampled_from([kind for kind in Kind if kind]), free_fields)
completions = st.fixed_dictionaries({"end_ns": I64, "offset": I64, "a": I64, "code": I32})
# How far back the record lies that is completed next, and with what; None: nothing is completed after this begin.
steps = st.lists(
    st.tuples(begins, st.none() | st.tuples(st.integers(0, 20), st.sampled_from(OUTCOMES), completions)), max_size=40
)


@dataclass
class Model:
    """What must be on the tape, and how sequences stay dense."""

    rows: list[dict[str, int]] = field(default_factory=list)
    sequences: dict[object, int] = field(default_factory=dict)

    def begin(self, tape: TapeWriter, kind: Kind, given: dict[str, int]) -> None:
        key = (kind, given["topic"], given["partition"]) if kind is Kind.SEND else kind
        sequence = self.sequences.get(key, 0)
        self.sequences[key] = sequence + 1
        row = {**dict.fromkeys(FIELDS, 0), **given, "kind": int(kind), "sequence": sequence}
        slot = tape.begin(kind, sequence=sequence, **given)
        assert slot == len(self.rows)
        self.rows.append(row)

    def complete(self, tape: TapeWriter, back: int, outcome: Outcome, stored: dict[str, int]) -> None:
        slot = len(self.rows) - 1 - back
        if slot < 0:
            return
        row = self.rows[slot]
        if row["outcome"] or row["kind"] in INSTANT_KINDS:
            with pytest.raises(HarnessError):
                tape.complete(slot, outcome, **stored)
            return
        tape.complete(slot, outcome, **stored)
        row.update(stored, outcome=int(outcome))


def rows_of(tape: Tape) -> list[dict[str, int]]:
    return [dict(zip(FIELDS, (int(value) for value in record), strict=True)) for record in tape.records.tolist()]


@given(steps=steps, per_segment=st.integers(1, 7), spare=st.integers(0, RECORD_BYTES - 1), close=st.booleans())
@examples(40)
def test_what_is_written_is_read(steps: list[object], per_segment: int, spare: int, close: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory, model = Path(name), Model()
        tape = TapeWriter(directory, tape_header(segment_bytes=per_segment * RECORD_BYTES + spare))
        for (kind, given_fields), completion in steps:  # type: ignore[misc]
            model.begin(tape, kind, given_fields)
            if completion:
                model.complete(tape, *completion)
        unfinished = sum(not row["outcome"] and row["kind"] not in INSTANT_KINDS for row in model.rows)
        assert (tape.used, tape.unfinished) == (len(model.rows), unfinished)
        if close:
            tape.close()
        read = read_tape(directory)
        tape.close()
        assert rows_of(read) == model.rows
        assert read.flaws == ()
        assert read.unread_bytes == 0


@given(steps=steps, killed_at=st.integers(0, 80))
@examples(25)
def test_killed_between_any_two_steps_the_tape_tells_what_was_done(steps: list[object], killed_at: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory, model, done = Path(name) / "live", Model(), 0
        directory.mkdir()
        with TapeWriter(directory, tape_header()) as tape:
            for (kind, given_fields), completion in steps:  # type: ignore[misc]
                if done == killed_at:
                    break
                model.begin(tape, kind, given_fields)
                done += 1
                if completion and done != killed_at:
                    model.complete(tape, *completion)
                    done += 1
            left = Path(name) / "left"
            shutil.copytree(directory, left, ignore=shutil.ignore_patterns("*.new"))
        read = read_tape(left)
        assert rows_of(read) == model.rows
        assert read.whole


@given(field_bytes=st.binary(min_size=RECORD_BYTES - 1, max_size=RECORD_BYTES - 1))
@examples(20)
def test_a_record_that_was_being_begun_is_not_there_yet(field_bytes: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with TapeWriter(directory, tape_header()) as tape:
            tape.begin(Kind.SEND)
            with segment_path(directory, 0).open("r+b") as segment:
                segment.seek(RECORD_BYTES + 1)  # all of the next slot but its kind byte
                segment.write(field_bytes)
            read = read_tape(directory)
        assert len(read.records) == 1
        assert read.whole


@given(cut=st.integers(0, 4 * RECORD_BYTES - 1))
@examples(20)
def test_a_segment_cut_short_by_a_copy_is_a_flaw_and_its_whole_records_are_read(cut: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_sends(directory, count=10, close=False)
        os.truncate(segment_path(directory, 1), cut)
        read = read_tape(directory)
        assert not read.whole
        left = [0, 1, 2, 3, *range(4, 4 + cut // RECORD_BYTES), 8, 9]
        assert read.frame(Kind.SEND)["sequence"].to_list() == left
        assert read.frame(Kind.SEND)["slot"].to_list() == left


def write_sends(directory: Path, count: int, *, close: bool = True) -> None:
    tape = TapeWriter(directory, tape_header())
    for sequence in range(count):
        tape.complete(tape.begin(Kind.SEND, sequence=sequence, txn=-1), Outcome.ACKNOWLEDGED, end_ns=1, offset=sequence)
    if close:
        tape.close()
    else:
        tape._ahead.shutdown(wait=True)


def test_closing_gives_back_unused_space_and_says_how_many_records_there_are(
    tmp_path: Path, read_all: Callable[[Path], Tape]
) -> None:
    write_sends(tmp_path, count=6)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0000.tape", "0001.tape", "tape.json"]
    assert segment_path(tmp_path, 1).stat().st_size == 2 * RECORD_BYTES
    assert TapeHeader.load(tmp_path).records == 6
    assert read_all(tmp_path).whole


@pytest.mark.parametrize("lost", [0, 1])
def test_a_closed_tape_that_lost_a_segment_is_not_whole(tmp_path: Path, lost: int) -> None:
    write_sends(tmp_path, count=6)
    segment_path(tmp_path, lost).unlink()
    assert not read_tape(tmp_path).whole


def test_a_closed_tape_that_lost_its_last_record_is_not_whole(tmp_path: Path) -> None:
    write_sends(tmp_path, count=6)
    os.truncate(segment_path(tmp_path, 1), RECORD_BYTES)
    assert read_tape(tmp_path).flaws == ("the writer closed it with 6 records; 5 are there",)


def test_an_unused_slot_between_used_ones_is_a_flaw(tmp_path: Path) -> None:
    write_sends(tmp_path, count=6, close=False)
    with segment_path(tmp_path, 0).open("r+b") as segment:
        segment.seek(2 * RECORD_BYTES + KIND_AT)
        segment.write(b"\0")
    flaws = read_tape(tmp_path).flaws
    assert any("unused slots between used ones" in flaw for flaw in flaws)
    assert any("SEND sequences are not dense" in flaw for flaw in flaws)


def test_bytes_behind_the_end_are_a_flaw(tmp_path: Path) -> None:
    write_sends(tmp_path, count=5, close=False)
    with segment_path(tmp_path, 1).open("r+b") as segment:
        segment.seek(3 * RECORD_BYTES + 20)
        segment.write(b"x")
    read = read_tape(tmp_path)
    assert read.unread_bytes == 1
    assert read.flaws == ("1 bytes are set behind the end",)


@pytest.mark.parametrize(("at", "flaw"), [(0, "no known kind"), (1, "no known outcome"), (2, "header does not name")])
def test_impossible_fields_are_flaws(tmp_path: Path, at: int, flaw: str) -> None:
    write_sends(tmp_path, count=1, close=False)
    with segment_path(tmp_path, 0).open("r+b") as segment:
        segment.seek(at)
        segment.write(b"\x77")
    assert any(flaw in found for found in read_tape(tmp_path).flaws)


def test_sequences_must_be_dense_in_each_partition(tmp_path: Path) -> None:
    with TapeWriter(tmp_path, tape_header()) as tape:
        for topic, partition, sequence in [(0, 0, 0), (0, 1, 0), (1, 0, 0), (0, 0, 1), (0, 1, 2)]:
            tape.begin(Kind.SEND, topic=topic, partition=partition, sequence=sequence)
    assert read_tape(tmp_path).flaws == ("SEND sequences are not dense from 0: 1 records out of place",)


def test_a_tape_is_never_written_over(tmp_path: Path) -> None:
    write_sends(tmp_path, count=1)
    with pytest.raises(HarnessError, match="holds a tape already"):
        TapeWriter(tmp_path, tape_header())


def test_a_slot_that_was_never_begun_cannot_be_completed(tmp_path: Path) -> None:
    with TapeWriter(tmp_path, tape_header()) as tape, pytest.raises(HarnessError):
        tape.complete(0, Outcome.ACKNOWLEDGED, end_ns=1)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', "{"])
def test_without_a_readable_header_there_is_no_tape(tmp_path: Path, text: str) -> None:
    (tmp_path / "tape.json").write_text(text)
    with pytest.raises(HistoryError):
        read_tape(tmp_path)


FULL_DISK = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tape_headers import tape_header
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.history.tape import Kind
from chaoskafka.history.tape_writer import TapeWriter
tape = TapeWriter(Path(sys.argv[1]), tape_header())
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    for sequence in range(9):
        tape.begin(Kind.SEND, sequence=sequence)
except EnvironmentFailure as full:
    print(sequence, full)
"""


def test_a_full_disk_is_an_error_before_the_segment_is_touched(
    tmp_path: Path, read_all: Callable[[Path], Tape]
) -> None:
    """By a limit on the size of files, which posix_fallocate meets as it meets a full disk."""
    child = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.startswith("4 "), child.stdout
    assert "no room for 320 bytes of tape" in child.stdout
    read = read_all(tmp_path)
    assert len(read.records) == 4
    assert read.whole


def test_the_error_of_a_full_disk_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=str(tmp_path)):
        TapeWriter(tmp_path, tape_header(segment_bytes=2**60))
