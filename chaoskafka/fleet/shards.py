"""Shares of many runs for several machines. In: runs with the time that each is expected to take. Out: one share. Pure.

Every machine computes the same shares from the same call, so none of them has to talk to another.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

SHARDS_MAX = 1000  # more machines than there are scenarios of anybody


@dataclass(frozen=True, slots=True)
class Shard:
    """Share `number` (from 1) of `of`, written `1/3`."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError, saying what is allowed."""
        found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
        if found and 1 <= int(found[1]) <= int(found[2]) <= SHARDS_MAX:
            return cls(int(found[1]), int(found[2]))
        raise ValueError(f"{text!r} is no share: write 1/3 to 3/3 for three; at most {SHARDS_MAX}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def share(expected_s: Mapping[str, float], shard: Shard) -> frozenset[str]:
    """The keys of one share: the longest run first, each to whoever has least to do so far.

    At worst a third above the best that could be had (Graham 1969). The order of the mapping does not matter.
    """
    loads = [(0.0, number) for number in range(1, shard.of + 1)]
    mine = set()
    for key in sorted(expected_s, key=lambda key: (-expected_s[key], key)):
        load_s, number = loads[0]
        heapq.heapreplace(loads, (load_s + expected_s[key], number))
        if number == shard.number:
            mine.add(key)
    return frozenset(mine)
