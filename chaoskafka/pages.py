"""Pages of which one part is made from the code, between two markers. In: a document and that part. Out: it renewed."""

from __future__ import annotations


def renewed(document: str, name: str, content: str) -> str:
    """`document` with `content` between its markers of that name. Raises ValueError when it has none."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, begun, rest = document.partition(begin)
    _, ended, after = rest.partition(end)
    if not begun or not ended:
        raise ValueError(f"no {begin} … {end}")
    return f"{before}{begin}\n{content}\n{end}{after}"
