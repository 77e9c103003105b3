"""The published figures are the measured ones, and the measuring keeps the order and the limits that it promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from benchmarks import demo, figures
from benchmarks.measure import PAIRS_MIN, Goal, Series, child, in_pairs, ratios
from benchmarks.side_by_side import side_by_side
from chaoskafka.history.events import read_events

FOUND = figures.results()


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_was_measured(page: Path) -> None:
    text = page.read_text()
    assert figures.written(text, FOUND) == text, "python -m benchmarks.figures writes them anew"


def test_every_result_is_shown() -> None:
    shown = set(re.findall(r"<!-- figures: (\w+) -->", figures.PAGES[1].read_text()))
    assert set(FOUND) <= shown


def test_results_are_enough_and_say_nothing_of_where_they_were_made() -> None:
    for series in (each for result in FOUND.values() for each in result["series"].values()):
        assert len(series["samples"]) >= PAIRS_MIN
        assert series["median"] == pytest.approx(median(series["samples"]), rel=1e-3)
        assert series["min"] <= series["q1"] <= series["median"] <= series["q3"] <= series["max"]
    for result in FOUND.values():
        assert set(result["machine"]) == {"cores", "memory_gib", "architecture"}
        assert re.findall(r'"[^"]*(?:/home|/tmp|/root|/work)[^"]*"', json.dumps(result)) == []


def test_pairs_are_measured_abba() -> None:
    order: list[str] = []

    def way(name: str, s: float) -> dict[str, float]:
        order.append(name)
        return {"s": s}

    of_a, of_b = in_pairs(lambda: way("A", 3.0), lambda: way("B", 2.0), 3)
    assert "".join(order) == "ABBAAB"
    assert ratios(of_a, of_b, "s") == [1.5, 1.5, 1.5]


def test_steps_stand_side_by_side_where_every_run_had_them() -> None:
    runs = {"docker": [{"elect": 9.0, "home": 1.0}, {"elect": 8.0}], "process": [{"elect": 7.0}, {"elect": 8.5}]}
    found = {series.label: series.samples for series in side_by_side(runs)}
    assert found == {"elect, docker": [9.0, 8.0], "elect, process": [7.0, 8.5]}


def test_a_summary_shows_the_spread() -> None:
    summary = Series(label="x", unit="s", samples=[4.0, 1.0, 2.0, 3.0, 5.0]).summary()
    assert [summary[name] for name in ("min", "q1", "median", "q3", "max")] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_goal_is_met_at_its_limit() -> None:
    assert Goal(what="x", value=0.45, at_most=0.45).met
    assert not Goal(what="x", value=0.46, at_most=0.45).met
    assert Goal(what="x", value=0.75, at_least=0.75).met
    assert not Goal(what="x", value=0.74, at_least=0.75).met


def test_the_demo_is_split_into_what_kafka_needs_and_the_rest() -> None:
    """On the recorded run of the tests; a plain start counts as it was measured elsewhere."""
    events = read_events(Path(__file__).parent / "histories" / "base" / "events.jsonl")
    run = demo.shares(events, whole_s=100.0, plain_start_s=10.0)
    needed = [run[label] for label in run if label.startswith("needed: ")]
    assert run[demo.NEEDED] == pytest.approx(sum(needed))
    assert run[demo.NEEDED] + run[demo.OWN] == pytest.approx(100.0)
    assert run["needed: the node being down"] > 5
    phases = [run[label] for label in run if label.startswith("phase ")]
    assert len(phases) >= 11
    assert sum(phases) + run["before and after the phases"] == pytest.approx(100.0)


def test_a_child_is_measured_and_one_that_fails_is_told() -> None:
    ended = child(sys.executable, "-c", "x = bytearray(64 << 20); print(len(x))")
    assert ended.output == f"{64 << 20}\n"
    assert ended.peak_mib > 64
    assert ended.cpu_s > 0
    with pytest.raises(subprocess.CalledProcessError) as failed:
        child(sys.executable, "-c", "raise SystemExit('no')")
    assert failed.value.output == "no\n"
