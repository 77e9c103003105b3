"""The layout of a tape's record for NumPy: what reads a tape at once, and what writes many records at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from chaoskafka.history.tape import FIELDS, RECORD

_CODES = {"B": "u1", "H": "<u2", "i": "<i4", "q": "<i8"}


def _layout() -> np.dtype[np.void]:
    formats: list[str] = []
    count = ""
    for letter in RECORD.format.lstrip("<"):
        if letter.isdigit():
            count += letter
        else:
            formats += [_CODES[letter]] * int(count or 1)
            count = ""
    return np.dtype(list(zip(FIELDS, formats, strict=True)))


LAYOUT = _layout()  # made from RECORD and FIELDS, so that the layout stays defined once
Records = npt.NDArray[np.void]
Integers = npt.NDArray[np.int64]
