"""The parser of record batches, against bytes that the test writes itself."""

from __future__ import annotations

import struct

import pytest
from batch_bytes import batch, marker, record, varint
from hypothesis import example, given
from hypothesis import strategies as st

from chaoskafka.cluster.wire.batches import HEADER_BYTES, Damaged, Unreadable, control_type, records, split

BODIES = st.lists(
    st.tuples(
        st.none() | st.binary(max_size=300),
        st.none() | st.binary(max_size=20),
        st.integers(-(2**40), 2**40),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=30,
)
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(
    bodies=BODIES,
    base=st.integers(0, 2**60),
    epoch=st.integers(0, 2**31 - 1),
    producer=st.tuples(INT64, st.integers(-1, 2**15 - 1), st.integers(-1, 2**31 - 1)),
    codec=st.sampled_from([0, 1]),
)
def test_what_was_written_is_read(
    bodies: list[tuple[bytes | None, bytes | None, int, int]],
    base: int,
    epoch: int,
    producer: tuple[int, int, int],
    codec: int,
) -> None:
    written = [
        record(delta, value, time_delta=time, key=key, headers=headers)
        for delta, (value, key, time, headers) in enumerate(bodies)
    ]
    data = batch(base, written, epoch=epoch, producer=producer, attributes=codec | 0x10)
    (found,) = split(data)
    assert (found.base_offset, found.last_offset, found.leader_epoch) == (base, base + len(bodies) - 1, epoch)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == producer
    assert (found.count, found.transactional, found.control) == (len(bodies), True, False)
    expected = [(base + n, 1000 + time, key, value) for n, (value, key, time, _) in enumerate(bodies)]
    assert list(records(found)) == expected


@given(st.integers(-(2**63), 2**63 - 1))
def test_times_of_any_size(delta: int) -> None:
    (found,) = split(batch(0, [record(0, b"", time_delta=delta)]))
    assert next(iter(records(found)))[1] == 1000 + delta


@given(st.data())
def test_a_changed_byte_never_goes_unnoticed(data: st.DataObject) -> None:
    whole = bytearray(batch(10, [record(0, b"hello"), record(1, b"world")]))
    at = data.draw(st.integers(21, len(whole) - 1))  # everything that the CRC covers
    whole[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Damaged, match="batch at offset 10 has a wrong CRC"):
        list(split(bytes(whole)))


@given(st.integers(0, 400))
def test_a_last_batch_that_was_cut_off_is_left_out(cut: int) -> None:
    first, second = batch(0, [record(0, b"a" * 50)]), batch(1, [record(0, b"b" * 200)])
    found = list(split((first + second)[: len(first) + min(cut, len(second))]))
    assert len(found) == (2 if cut >= len(second) else 1)


@given(st.binary(max_size=400))
@example(b"F\x00\x00\x00\x80\x80\x80\x00.\x00\x00\x00\x00\x80\x80\x80\x00\x00\x00")  # one record over both
def test_garbage_behind_a_sound_header_is_damaged_and_nothing_else(garbage: bytes) -> None:
    (found,) = split(batch(5, [garbage, garbage]))
    try:
        for _, _, key, value in records(found):
            assert len(key or b"") + len(value or b"") <= len(found.body)
    except Damaged:
        return


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ([record(0, b"x") + b"\x00"], "1 bytes left unread after 1 records"),
        ([record(0, b"x")[:-1]], "ends inside a record"),
        ([record(0, b"x" * 5)[:-3]], "ends inside a record"),
        ([varint(6) + b"\x00\x00\x00" + varint(-1) + varint(1)], "does not end where it should"),
        ([b"\xff" * 11], "longer than 10 bytes"),
        ([varint(9) + b"\x00\x00\x00" + varint(-1) + varint(100) + b"x" * 4], "reaches beyond its record"),
        ([varint(8) + record(0, b"x")[1:] + b"\x00"], "does not end where it should"),
    ],
)
def test_lengths_that_do_not_add_up(body: list[bytes], says: str) -> None:
    (found,) = split(batch(0, body))
    with pytest.raises(Damaged, match=says):
        list(records(found))


def test_markers_and_their_kinds() -> None:
    found = list(split(marker(3, 1) + marker(4, 0) + batch(5, [record(0, b"x")])))
    assert [control_type(each) for each in found] == [1, 0, None]
    assert found[0].producer_id == 7
    assert [each.control for each in found] == [True, True, False]


def test_a_control_batch_without_a_marker_is_damaged() -> None:
    (found,) = split(batch(0, [record(0, b"", key=b"\x00")], attributes=0x20))
    with pytest.raises(Damaged, match="holds no marker"):
        control_type(found)


def test_log_append_time_overrides_the_records() -> None:
    (found,) = split(batch(0, [record(0, b"", time_delta=5)], attributes=0x08))
    assert next(iter(records(found)))[1] == 2000


def test_offsets_that_compaction_left_out() -> None:
    (found,) = split(batch(10, [record(0, b"a"), record(7, b"b")], last_delta=9))
    assert [offset for offset, *_ in records(found)] == [10, 17]
    assert found.last_offset == 19


@pytest.mark.parametrize(("number", "name"), [(2, "snappy"), (3, "lz4"), (4, "zstd"), (6, "codec 6")])
def test_a_compression_that_we_do_not_read_is_named(number: int, name: str) -> None:
    (found,) = split(batch(8, [b"?"], attributes=number))
    with pytest.raises(Unreadable, match=f"batch 8 is compressed with {name}"):
        list(records(found))


def test_gzip_that_is_none() -> None:
    whole = batch(8, [b"?"], attributes=0)
    (found,) = split(whole)
    with pytest.raises(Damaged, match="gzip"):
        list(records(type(found)(**{**{n: getattr(found, n) for n in found.__slots__}, "attributes": 1})))


def test_old_formats_are_unreadable() -> None:
    old = bytearray(batch(8, [record(0, b"x")]))
    old[16] = 1
    with pytest.raises(Unreadable, match="format 1"):
        list(split(bytes(old)))


def test_a_length_below_the_header_is_damaged() -> None:
    whole = bytearray(batch(8, [record(0, b"x")]))
    whole[8:12] = struct.pack(">i", HEADER_BYTES - 13)
    with pytest.raises(Damaged, match="claims a length"):
        list(split(bytes(whole)))
