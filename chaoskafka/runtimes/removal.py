"""Removal: steps registered before a thing is created, all tried on leaving, the first error raised with the others as
notes. And `in_parallel`: the same for work on several nodes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

from chaoskafka.errors import EnvironmentFailure

T = TypeVar("T")
R = TypeVar("R")

_THREADS_MAX = 16  # requests to one engine at a time; more only queue up inside it


class Removal:
    """A context manager of undo steps, done last first. Not for use by several threads at once."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, Callable[[], object]]] = []

    def add(self, what: str, step: Callable[[], object]) -> None:
        """`step` must tolerate that the thing was never created, or is gone."""
        self._steps.append((what, step))

    def forget(self) -> None:
        """Leave everything where it is."""
        self._steps.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        first = error
        while self._steps:
            what, step = self._steps.pop()
            try:
                step()
            except BaseException as failed:  # noqa: BLE001 - becomes a note, or is raised below
                first = keep_first(first, failed, f"while {what}")
        if first is not None and first is not error:
            raise first


def keep_first(first: BaseException | None, failed: BaseException, where: str) -> BaseException:
    """The first error, with a later one as a note."""
    if first is None:
        failed.add_note(where)
        return failed
    # What mends it stands with the first error; of one that breaks every step it would be told each time.
    text = failed.problem if isinstance(failed, EnvironmentFailure) else failed
    first.add_note(f"then, {where}: {type(failed).__name__}: {text}")
    return first


def in_parallel(what: str, act: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """`act` on each item, each in a thread; returns once all have ended, results in the order of `items`.

    Raises the first error, in the order of `items`, with the others as notes.
    """
    if not items:
        return []
    with ThreadPoolExecutor(max_workers=min(_THREADS_MAX, len(items)), thread_name_prefix="chaoskafka") as pool:
        futures = [pool.submit(act, item) for item in items]
    first: BaseException | None = None
    for item, future in zip(items, futures, strict=True):
        failed = future.exception()
        if failed is not None:
            first = keep_first(first, failed, f"while {what} {getattr(item, 'name', item)}")
    if first is not None:
        raise first
    return [future.result() for future in futures]
