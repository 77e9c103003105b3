"""What was read or computed of one history, kept for the next who asks: a dozen checks look at the same few tables.

In: a function of a history, decorated with `once`. Out: the same function, which computes each answer once per History
object while the limit allows. Several threads may ask; at worst two of them compute the same.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast

import polars as pl

# Enough for the tables of some two million messages and what is derived from them, a fraction of what machines have.
# Beyond it every check reads for itself again: slower, but a run may be of any length.
KEPT_BYTES_MAX = 1 << 30


class Kept:
    """Values by key, up to a number of bytes; only frames and series are counted, other values must be small.

    What came first stays: checks go through the partitions in one order again and again, and whoever dropped the least
    recently used one would always have dropped just what comes next.
    """

    def __init__(self, limit_bytes: int = KEPT_BYTES_MAX) -> None:
        self._values: dict[Hashable, object] = {}
        self._is_full = False
        self._room_bytes = limit_bytes
        self._lock = threading.Lock()  # not held while something is computed, which may ask for something else

    @property
    def is_full(self) -> bool:
        """Whether something was too large to be kept."""
        return self._is_full

    def get(self, key: Hashable, compute: Callable[[], object]) -> object:
        if key in self._values:
            return self._values[key]
        value = compute()
        size_bytes = value.estimated_size() if isinstance(value, pl.DataFrame | pl.Series) else 0
        with self._lock:
            if key in self._values:
                return self._values[key]
            if size_bytes <= self._room_bytes:
                self._room_bytes -= int(size_bytes)
                self._values[key] = value
            else:
                self._is_full = True
        return value


class Keeping(Protocol):
    """A history, as far as `once` needs it."""

    @property
    def kept(self) -> Kept: ...


H_contra = TypeVar("H_contra", bound=Keeping, contravariant=True)
P = ParamSpec("P")
T = TypeVar("T")


def once(compute: Callable[Concatenate[H_contra, P], T]) -> Callable[Concatenate[H_contra, P], T]:
    """Compute it once per history and arguments. What it returns is shared, so nobody may change it."""

    @functools.wraps(compute)
    def asked(history: H_contra, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (compute, args, tuple(sorted(kwargs.items())))
        return cast("T", history.kept.get(key, lambda: compute(history, *args, **kwargs)))

    return asked
