"""What is computed ahead is what the checks ask for, and whatever goes wrong there is told by whoever asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka import ahead
from chaoskafka.errors import HistoryError
from chaoskafka.history.kept import Kept
from chaoskafka.history.read import History
from chaoskafka.judge import judged
from tests.histories.builder import build
from tests.histories.shape import Shape


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built") / "run", Shape(partitions=2))


def test_the_same_result_with_and_without(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = judged(History(run_dir)).to_json()
    monkeypatch.setattr(ahead, "THREADS_MAX", 1)
    alone = History(run_dir)
    ahead.compute_ahead(alone)
    assert not vars(alone.kept)["_values"]
    assert judged(alone).to_json() == with_it


def test_a_history_that_keeps_nothing_is_left_alone(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    history = History(run_dir)
    vars(history)["kept"] = Kept(0)
    ahead.compute_ahead(history)
    assert history.kept.is_full
    assert judged(history).to_json() == judged(History(run_dir)).to_json()


def test_a_table_that_cannot_be_read_is_told_by_the_check_that_asks(tmp_path: Path) -> None:
    run_dir = build(tmp_path / "run", Shape(partitions=2))
    table = next((run_dir / "audit" / "record").iterdir())
    table.write_bytes(b"nothing")
    history = History(run_dir)
    ahead.compute_ahead(history)
    with pytest.raises(HistoryError, match=table.name):
        judged(history)
