"""The table of all examinations, made from their rows, so that it cannot fall behind them.

`python -m chaoskafka.doctor.reference docs/doctor.md` renews what stands there between the two markers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from chaoskafka import pages
from chaoskafka.doctor.examine import all_examinations


def reference() -> str:
    """A section for each examination."""
    return "\n".join(_lines())


def renewed(document: str) -> str:
    """`document` with the sections between its markers. Raises ValueError when it has none."""
    return pages.renewed(document, "examinations", reference())


def _lines() -> Iterator[str]:
    for row in all_examinations():
        yield from (f"### `{row.word}`", "", f"{row.does[0].upper()}{row.does[1:]}.", "")
        yield f"- when it fails: **{row.otherwise}**; {row.means}"
        yield f"- to mend it: `{row.mend}`"
        if row.after:
            yield f"- needs: {', '.join(row.after)}"
        yield ""


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(renewed(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
