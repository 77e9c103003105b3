"""Where on a producer's tape its messages stand: message k is record k, but for the records of errors in between."""

from __future__ import annotations

from array import array
from bisect import bisect_right

import numpy as np

from chaoskafka.history.tape_layout import Integers


class Slots:
    """Counts the records that are no messages: 8 bytes for each, a tenth of what the tape itself takes for it."""

    def __init__(self) -> None:
        self._others = array("q")  # for each: the number of the message that was begun next

    def other(self, number: int) -> None:
        """Another record was written; the next message will be this one."""
        self._others.append(number)

    def of(self, numbers: Integers) -> Integers:
        """The slots of these messages."""
        if not self._others:
            return numbers
        return numbers + np.searchsorted(np.array(self._others), numbers, side="right")

    def of_one(self, number: int) -> int:
        """The slot of this message."""
        return number + bisect_right(self._others, number)
