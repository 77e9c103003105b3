"""What is found beside the audit by offset is what a comparison of whole identities would find, or nothing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.history.places import acknowledged_at, is_key, lacking, read_at, rows_at, shared, vouched_for
from chaoskafka.history.views import IDENTITY, acknowledged, in_order, in_place, parted
from tests.histories.builder import build
from tests.histories.copy import Copy
from tests.histories.shape import Shape

numbers = st.lists(st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1])), max_size=6)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy.at(build(tmp_path_factory.mktemp("built") / "run", Shape(partitions=2)))


@given(numbers, numbers)
def test_a_row_is_found_where_the_key_stands_and_nowhere_else(keys: list[int | None], wanted: list[int | None]) -> None:
    rows = rows_at(pl.Series(keys, dtype=pl.Int64), pl.Series(wanted, dtype=pl.Int64)).to_list()
    key = keys == sorted(set(keys), key=lambda each: (each is None, each)) and None not in keys
    assert is_key(pl.Series(keys, dtype=pl.Int64)) == key
    assert rows == [keys.index(each) if key and each is not None and each in keys else None for each in wanted]


@given(st.lists(st.tuples(st.sampled_from([None, 1, 2]), st.integers(0, 2)), max_size=6))
def test_sorting_and_parting_are_those_of_the_library(pairs: list[tuple[int | None, int]]) -> None:
    rows = pl.DataFrame(pairs, schema={"a": pl.Int64, "b": pl.Int64}, orient="row").with_row_index()
    assert in_order(rows, "a", "b").equals(rows.sort("a", "b", maintain_order=True))
    found, wanted = parted(rows, "a"), rows.partition_by("a", as_dict=True)
    assert {key: own.rows() for key, own in found.items()} == {key: own.rows() for key, own in wanted.items()}


def test_every_acknowledgement_in_its_place_is_found_and_no_other(built: Copy) -> None:
    history, partition = built.history, built.partition
    acked, rows = acknowledged(history, partition), acknowledged_at(history, partition)
    there = history.records(partition).with_row_index("row").filter(in_place(history, partition))
    wanted = acked.join(there, on=["offset", *IDENTITY], how="left", maintain_order="left")["row"]
    assert rows.to_list() == wanted.to_list()
    assert 0 < rows.null_count() < acked.height / 10  # those that were told no offset
    assert vouched_for(history, partition).sum() == acked.height - rows.null_count()


def test_a_message_that_lies_elsewhere_or_is_broken_vouches_for_nothing(built: Copy, tmp_path: Path) -> None:
    copy = built.into(tmp_path / "run")
    row = copy.acked()
    copy.set("audit/record", pl.col("offset") == row["offset"], sent_partition=99)
    history = copy.history
    acked = acknowledged(history, copy.partition).with_columns(row=acknowledged_at(history, copy.partition))
    assert acked.filter(pl.col("offset") == row["offset"])["row"].to_list() == [None]


def test_a_read_that_differs_in_anything_is_not_what_the_audit_has(built: Copy, tmp_path: Path) -> None:
    good = built.history
    assert read_at(good, built.partition).null_count() == 0
    copy = built.into(tmp_path / "run")
    offset = copy.acked()["offset"]
    copy.set("ops/read", pl.col("offset") == offset, incarnation=7)
    rows = copy.history.reads(copy.partition).with_columns(row=read_at(copy.history, copy.partition))
    assert rows.filter(pl.col("row").is_null())["offset"].unique().to_list() == [offset]


def test_beside_an_audit_that_names_an_offset_twice_nothing_is_found(built: Copy, tmp_path: Path) -> None:
    copy = built.into(tmp_path / "run")
    copy.add("audit/record", copy.record(copy.acked()["offset"]))
    history = copy.history
    for rows in (acknowledged_at(history, copy.partition), read_at(history, copy.partition)):
        assert rows.null_count() == len(rows) > 0
    assert not vouched_for(history, copy.partition).any()


def test_few_are_compared_with_many_as_all_would_be(built: Copy) -> None:
    sends = built.history.sends(built.partition)
    records = built.history.records(built.partition)
    for few in (sends, sends.head(3), sends.clear()):
        assert lacking(few, records).equals(few.join(records, on=IDENTITY, how="anti", maintain_order="left"))
        assert shared(few, records).equals(few.join(records, on=IDENTITY, how="semi", maintain_order="left"))
