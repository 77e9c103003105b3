"""What people read: every figure, what differs, and what was not counted."""

from __future__ import annotations

from chaoskafka.statistics.as_text import comparison_text, rulings_text, stats_text
from chaoskafka.statistics.rules import Ruling
from chaoskafka.statistics.samples import metrics
from chaoskafka.statistics.side import Side, Unmeasured
from chaoskafka.verdict import Answer
from tests.statistics.made import result_of, step


def side(lo_s: float, **made_with: str) -> Side:
    results = [
        result_of(i, [step("elect", (lo_s, lo_s), bound=(0.0, 5.0)), step("redirect", (2 * lo_s, 2 * lo_s))])
        for i in range(6)
    ]
    return Side(
        name="runs",
        runs=6,
        unmeasured=(Unmeasured(run="runs/x", why="not judged"),),
        made_with={key: (value,) for key, value in made_with.items()},
        metrics=metrics(results),
    )


def figures(text: str, step_of: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith(step_of)]
    return " ".join(line.split()[1:])


def test_a_row_holds_the_figures_of_its_step() -> None:
    text = stats_text(side(2.0))
    assert figures(text, "kill.elect") == "6 2.000 2.000 2.000 to 2.000 2.000 2.000 inside 6/6"
    assert "not counted: runs/x: not judged" in text


def test_a_comparison_shows_ratios_only_of_what_no_timer_draws() -> None:
    text = comparison_text(side(2.0), side(3.0))
    elect, redirect = figures(text, "kill.elect"), figures(text, "kill.redirect")
    assert elect == "6, 6 2.000 3.000 +1.000 +1.000 to +1.000 inside 6/6, inside 6/6"
    assert redirect == "6, 6 4.000 6.000 +2.000 +2.000 to +2.000 1.50 1.50 to 1.50"
    assert "made with the same versions and settings" in text


def test_what_they_were_made_with_is_shown_where_it_differs() -> None:
    text = comparison_text(side(1.0, kafka="4.2.2", os="a", only="1"), side(1.0, kafka="4.4.0", os="a"))
    assert figures(text, "kafka") == "4.2.2 4.4.0"
    assert "\nos" not in text
    assert "1 settings that only one of them has, such as only" in text


def test_what_failed_comes_first() -> None:
    rulings = [
        Ruling(rule="r", metric=f"m{i}", answer=answer, why="so")
        for i, answer in enumerate((Answer.PASS, Answer.UNKNOWN, Answer.FAIL))
    ]
    assert [line.split()[0] for line in rulings_text(rulings).splitlines()] == ["FAIL", "UNKNOWN", "PASS"]
