"""Text from outside as it may be shown: nothing in it moves a cursor, breaks a line or hides itself.

In: any text: a value of a scenario, a file's name, a broker's log. Out: the same text with such characters escaped.
"""

from __future__ import annotations

import re
import unicodedata

SHOWN_MAX = 200  # characters of a name or key that a message repeats: the longest that is allowed is shown whole
_NOT_ASCII = re.compile(r"[^ -~]")


def is_visible(char: str) -> bool:
    """Whether a character stands for itself. Spaces of every width do; controls, line breaks, bidirectional marks,
    lone surrogates and what Unicode has not assigned do not."""
    return char.isprintable() or unicodedata.category(char) == "Zs"


def hidden(text: str) -> str | None:
    """The first character that is not visible, escaped; None when all are."""
    return next((_escaped(char) for char in text if not is_visible(char)), None)


def visible(text: str, *, keep: str = "") -> str:
    """`text` with what is not visible escaped as Python would write it; the characters of `keep` stay."""
    return _NOT_ASCII.sub(
        lambda found: found[0] if found[0] in keep or is_visible(found[0]) else _escaped(found[0]), text
    )


def cut(text: str) -> str:
    """A name or key as a message repeats it: visible, and not longer than a line or two."""
    return visible(text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "…")


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
