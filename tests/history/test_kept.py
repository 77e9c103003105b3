"""What was computed of a history is kept, as far as there is room, and never for another history."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from chaoskafka.history.kept import Kept, once
from chaoskafka.history.read import History, open_history
from tests.histories.builder import build
from tests.histories.shape import Shape

asked: list[tuple[Path, int]] = []


@once
def squares(history: History, upto: int) -> pl.DataFrame:
    asked.append((history.run_dir, upto))
    return pl.DataFrame({"square": [number * number for number in range(upto)]})


def test_each_answer_is_computed_once_per_history_and_arguments() -> None:
    asked.clear()
    one, other = History(Path("one")), History(Path("other"))
    assert squares(one, 3) is squares(one, 3)
    assert squares(one, 2).height == 2
    squares(other, 3)
    squares(History(Path("one")), 3)
    assert asked == [(Path("one"), 3), (Path("one"), 2), (Path("other"), 3), (Path("one"), 3)]


def test_what_came_first_stays_and_what_finds_no_room_is_computed_again() -> None:
    computed = []

    def frame(name: str, rows: int) -> pl.DataFrame:
        computed.append(name)
        return pl.DataFrame({name: pl.Series(range(rows), dtype=pl.Int64)})

    kept = Kept(limit_bytes=100)
    for _ in range(2):
        for name, rows in {"first": 8, "large": 9, "small": 4}.items():
            assert kept.get(name, lambda name=name, rows=rows: frame(name, rows)) is not None
    assert computed == ["first", "large", "small", "large"]


def test_nothing_is_kept_of_what_failed() -> None:
    kept, tries = Kept(), []

    def fail_once() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("not yet")
        return 7

    with pytest.raises(OSError, match="not yet"):
        kept.get("key", fail_once)
    assert kept.get("key", fail_once) == 7


def test_a_table_is_read_once_and_a_new_history_reads_it_anew(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Shape(partitions=1, before_s=1, after_s=0.5))
    history = open_history(run)
    (partition,) = history.partitions
    before = history.sends(partition)
    before.head(3).write_parquet(run / "ops/send" / partition.file)
    assert history.sends(partition) is before
    assert open_history(run).sends(partition).height == 3
