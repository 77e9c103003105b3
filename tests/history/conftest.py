"""A reader of tapes that lets no byte go unread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaoskafka.history.tape_reader import Tape, read_tape


@pytest.fixture
def read_all() -> Iterator[Callable[[Path], Tape]]:
    """Reads tapes; the test fails when one of them had bytes that the reader did not account for."""
    tapes: list[Tape] = []

    def read(directory: Path) -> Tape:
        tapes.append(read_tape(directory))
        return tapes[-1]

    yield read
    assert [tape.unread_bytes for tape in tapes] == [0] * len(tapes)
