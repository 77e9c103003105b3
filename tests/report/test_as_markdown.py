"""The summary for CI: short, complete in its answers, and no text of a run is markup in it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chaoskafka.report import as_markdown as module
from chaoskafka.report.as_markdown import as_markdown, code, escaped
from chaoskafka.report.whole import WholeRun, whole_run
from tests.histories import alterations as a
from tests.histories.copy import Copy
from tests.properties import examples
from tests.report.runs import judged

GITHUB = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
# An inline that is neither text nor the bold and code that are our own.
MARKUP = ("link_open", "image", "html_inline", "em_open", "s_open", "heading_open", "html_block")


def shown(text: str) -> list[str]:
    """The kinds of markup that GitHub would make of it."""
    tokens = GITHUB.parse(text)
    return [one.type for token in tokens for one in (token, *(token.children or ()))]


@pytest.fixture
def red(run: Copy) -> WholeRun:
    return whole_run(judged(run, a.lose_one, expect=("no_lost_acknowledged", "unavailable")))


def test_the_answer_the_suspect_the_checks_and_the_way_back_are_in_it(red: WholeRun) -> None:
    text = as_markdown([red])
    assert text.startswith("### FAIL: Leader killed")
    assert "Suspect: broker." in text
    assert text.count("| **pass** |") + text.count("| **fail** |") == len(red.result.checks if red.result else ())
    assert f"`{red.header.replay}`" in text
    assert shown(text).count("table_open") == 2
    assert "| longest interruption |" in text


def test_several_runs_begin_with_a_table_of_answers(good: Copy, red: WholeRun) -> None:
    text = as_markdown([whole_run(good.run_dir), red])
    assert text.startswith("## 1 of 2 runs passed\n")
    rows = [line for line in text.splitlines() if line.startswith("| **")][:2]
    assert [row.split("|")[1].strip() for row in rows] == ["**pass**", "**fail**"]


def test_what_is_too_long_is_cut_at_a_line_and_says_so(red: WholeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SIZE_MAX_BYTES", 900)
    text = as_markdown([replace(red, run_dir=red.run_dir / ("ä" * 40)), red])
    assert len(text.encode()) <= 900
    assert text.rstrip().endswith("report.html of each run directory.")


@examples(100)
@given(text=st.text(max_size=60) | st.text(alphabet="`*_[](){}<>!|#~\\-&;:/.@ \n\tab1", max_size=60))
def test_no_text_of_a_run_is_markup(text: str) -> None:
    cell = escaped(text)
    assert "\n" not in cell
    kinds = shown(f"| a | b |\n| --- | --- |\n| x{cell} | y |\n")
    assert not set(kinds) & {*MARKUP, "strong_open", "code_inline"}
    assert kinds.count("td_open") == 2


@examples(100)
@given(text=st.text(alphabet="`ab \\<|", min_size=1, max_size=30).filter(str.strip))
def test_a_command_is_code_whatever_is_in_it(text: str) -> None:
    (kind,) = {
        kind
        for kind in shown(f"Again: {code(text)}")
        if kind not in ("text", "inline", "paragraph_open", "paragraph_close")
    }
    assert kind == "code_inline"
