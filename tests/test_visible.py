"""What comes from outside is shown without moving a cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.visible import SHOWN_MAX, cut, hidden, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Führer 隊長\u3000\u00a0🐈", "Führer 隊長\u3000\u00a0🐈"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("a\r\nb", r"a\r\nb"),
        ("\u202etxt.exe", r"\u202etxt.exe"),
        ("\ud800\u2028", r"\ud800\u2028"),
    ],
)
def test_what_is_not_visible_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert (hidden(text) is None) == (text == shown)


def test_what_is_kept_stays() -> None:
    assert visible("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


@given(st.text(st.characters()))
def test_any_text_is_one_line_that_can_be_encoded(text: str) -> None:
    shown = visible(text)
    assert hidden(shown) is None
    assert len(shown.splitlines()) <= 1
    shown.encode()
    assert len(cut("x" * 9 + text * 100)) <= 10 * (SHOWN_MAX + 1)
