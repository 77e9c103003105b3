"""The page: the answer first, whole and well-formed for any run, nothing of a run breaks out, nothing is fetched."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.history.header import RunHeader
from chaoskafka.report import as_html as page_module
from chaoskafka.report.as_html import SIZE_MAX_BYTES, as_html
from chaoskafka.report.drawing import nice, ticks
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.report.whole import WholeRun, whole_run
from tests.histories import alterations as a
from tests.histories.copy import Copy
from tests.report.pages import Element, parsed
from tests.report.runs import judged

# Breaks out of text, attributes, scripts, styles, comments and templates wherever something is not escaped.
HOSTILE = (
    "</title></style></script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}{% raw %}&amp;<!--\u202e"
)


def page(*run_dirs: Path) -> Element:
    return parsed(as_html([whole_run(run_dir) for run_dir in run_dirs]))


def test_the_question_and_the_answer_come_first(good: Copy) -> None:
    root = page(good.run_dir)
    first = root.all("header")[0]
    assert first.all("span", "badge")[0].text == "pass"
    assert "All 14 checks passed: all " in first.text
    assert first.all("h1")[0].text == "Leader killed"
    assert root.all("title")[0].text.startswith("PASS")


def test_every_part_of_a_run_is_on_its_page(good: Copy) -> None:
    root = page(good.run_dir)
    headings = [heading.text for heading in root.all("h2")]
    assert headings == ["Timeline", "Failover times", "Checks", "Again, and with what"]
    result = read_result(good.run_dir / RESULT_FILE)
    (checks,) = root.all("table", "checks")
    rows = checks.all("tbody")[0].all("tr")
    assert [row.all("code")[0].text for row in rows] == [check.word for check in result.checks]
    assert all(check.summary in row.text for check, row in zip(result.checks, rows, strict=True))
    plots = root.all("svg", "tl-plot")
    assert len(plots) == 1
    assert {"b0", "fault", "up", "no-answer"} <= {kind for bar in plots[0].all("rect") for kind in bar.classes}
    commands = [pre.text for pre in root.all("pre", "commands")]
    assert "chaoskafka run built.yaml --seed 1" in commands
    assert f"chaoskafka check {good.run_dir}" in commands


def test_a_red_run_tells_its_story_before_the_timeline(run: Copy) -> None:
    root = page(judged(run, a.lose_one, expect=("no_lost_acknowledged",)))
    headings = [heading.text for heading in root.all("h2")]
    assert headings[0] == "What went wrong no_lost_acknowledged"
    assert headings.index("Timeline") > 0
    story = root.all("section", "story")[0]
    assert "Suspect: broker." in story.text
    told = [row.all("td")[1].text for row in story.all("tr")[1:]]
    assert told.index("sent") < told.index("acknowledged") < told.index("now")
    assert f"chaoskafka explain {run.run_dir}" in story.all("pre", "commands")[0].text


@pytest.mark.parametrize(
    ("alter", "answer"),
    [
        (a.never_play, "unknown"),
        (a.without_a_plan, "unknown"),
        (a.never_audit, "unknown"),
        (a.leave_unhealed, "unknown"),
        (a.observe_nothing, "unknown"),
        (a.never_start_workers, "unknown"),
        (a.stay_broken, "fail"),
        (a.idle_through_the_fault, "unknown"),
    ],
)
def test_whatever_is_missing_in_a_run_it_has_a_page(alter: Any, answer: str, run: Copy) -> None:
    root = page(judged(run, alter, expect=("no_lost_acknowledged", "new_leader", "recovered")))
    assert root.all("header")[0].all("span", "badge")[0].text == answer
    assert root.all("h2")[0].text.startswith("What went wrong" if answer == "fail" else "Why it is not known")


def test_a_run_that_was_interrupted_says_where_it_ended(run: Copy) -> None:
    (run.run_dir / RESULT_FILE).unlink()
    events = (run.run_dir / "events.jsonl").read_text().splitlines()
    cut = next(i for i, line in enumerate(events) if '"play the plan"' in line) + 2
    error = json.dumps({"at_ns": 5, "event": "error", "where": "x", "type": "Interrupted", "text": "SIGINT arrived"})
    (run.run_dir / "events.jsonl").write_text("\n".join([*events[:cut], error]) + "\n")
    for part in ("audit", "ops"):
        for path in sorted((run.run_dir / part).rglob("*.*")):
            path.unlink()
    root = page(run.run_dir)
    first = root.all("header")[0]
    assert first.all("span", "badge")[0].text == "not judged"
    assert "It ended in phase 7 (play the plan). Interrupted: SIGINT arrived" in first.text
    assert root.all("table", "checks") == []


def test_a_damaged_part_is_left_out_and_named(run: Copy) -> None:
    (run.run_dir / "ops" / "send" / run.partition.file).write_bytes(b"PAR1 no")
    root = page(run.run_dir)
    assert "damaged table" in root.all("p", "warn")[0].text
    assert root.all("table", "checks")
    (run.run_dir / RESULT_FILE).write_text("{}")
    assert "chaoskafka check" in page(run.run_dir).all("header")[0].text


def hostile(run: Copy) -> WholeRun:
    """Every text of a run that is not bound to a form is hostile."""
    a.lose_one(run)
    judged(run)
    (run.run_dir / "logs").mkdir()
    path = run.run_dir / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    for event in events:
        for key in ("name", "word", "error", "where", "text", "type"):
            if key in event:
                event[key] = HOSTILE
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    header = RunHeader.load(run.run_dir)
    replace(
        header,
        scenario_name=HOSTILE,
        scenario={"title": HOSTILE, HOSTILE: HOSTILE},
        replay=HOSTILE,
        versions={HOSTILE: HOSTILE},
        workloads=tuple(
            replace(work, group=HOSTILE if work.group else None, settings={HOSTILE: HOSTILE})
            for work in header.workloads
        ),
        broker_settings={"1": {HOSTILE: HOSTILE}, "2": {HOSTILE: "other", "x": HOSTILE}},
    ).save(run.run_dir)
    result = read_result(run.run_dir / RESULT_FILE)
    checks = tuple(
        replace(check, summary=HOSTILE, parameters={HOSTILE: HOSTILE}, evidence=({**row, HOSTILE: HOSTILE},))
        for check in result.checks
        for row in (check.evidence or ({},))[:1]
    )
    replace(
        result, title=HOSTILE, question=HOSTILE, checks=checks, troubles=(HOSTILE,), versions={HOSTILE: HOSTILE}
    ).save(run.run_dir)
    return whole_run(run.run_dir)


def test_nothing_of_a_run_breaks_out(run: Copy) -> None:
    found = hostile(run)
    text = as_html([found, found])
    assert "\u202e" not in text
    root = parsed(text)
    assert len(root.all("script")) == 1
    assert root.all("img") == []
    elements = list(root)
    assert [name for one in elements for name in one.attributes if name.startswith("on")] == []
    assert "49" not in {one.text for one in elements}
    shown = HOSTILE.replace("\u202e", "\\u202e")
    told = [one.text for one in elements]
    for name in ("h1", "p", "td", "dd", "pre", "code", "title"):
        assert any(
            shown in one.text or "".join(shown.split()) in "".join(one.text.split()) for one in root.all(name)
        ), name
    assert any(shown in text for text in told)


def test_nothing_is_fetched_and_only_the_page_s_own_script_may_run(good: Copy) -> None:
    text = as_html([whole_run(good.run_dir)])
    root = parsed(text)
    fetching = {"src", "srcset", "data", "poster", "background", "action", "formaction", "xlink:href", "ping"}
    assert [name for one in root for name in one.attributes if name in fetching] == []
    assert all(one.attributes["href"].startswith("#") for one in root if "href" in one.attributes)
    assert root.all("link") == []
    styles = " ".join(one.text for one in root.all("style"))
    assert re.search(r"url\(|@import", styles) is None
    assert re.search(r"https?://", text) is None
    policy = next(m for m in root.all("meta") if m.attributes.get("http-equiv")).attributes["content"]
    assert policy.startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy


def test_several_runs_are_one_page_with_a_list_first(good: Copy, run: Copy) -> None:
    root = page(good.run_dir, judged(run, a.lose_one, expect=("no_lost_acknowledged",)))
    (listed,) = [one for one in root.all("section") if one.attributes.get("id") == "runs"]
    assert "2 runs, 1 passed" in listed.text
    assert [row.all("td")[0].text for row in listed.all("tr")[1:]] == ["pass", "fail"]
    assert [link.attributes["href"] for link in listed.all("a")] == ["#run-1", "#run-2"]
    assert {one.attributes.get("id") for one in root.all("article")} == {"run-1", "run-2"}


def test_a_page_that_would_be_too_large_drops_drawings_and_then_runs_but_lists_them_all(
    good: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = whole_run(good.run_dir)
    with_all, alone = len(as_html([one]).encode()), len(as_html([replace(one, timeline=None)]).encode())
    limit = with_all + (with_all - alone) // 2
    monkeypatch.setattr(page_module, "SIZE_MAX_BYTES", limit)
    text = as_html([one, one, one, one, one, one])
    root = parsed(text)
    assert len(text.encode()) <= limit
    assert len(root.all("svg", "tl-plot")) == 1
    assert 1 <= len(root.all("article")) < 6
    assert len(root.all("tbody")[0].all("tr")) == 6
    assert "stand in this list only" in root.text
    assert [one.attributes["id"] for one in root.all("article")] == [
        link.attributes["href"].removeprefix("#") for link in root.all("tbody")[0].all("a")
    ]


def test_a_run_that_does_not_fit_at_all_has_its_answer_on_the_page(good: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "SIZE_MAX_BYTES", 100)
    root = parsed(as_html([whole_run(good.run_dir)]))
    assert root.all("article") == []
    assert root.all("tbody")[0].all("span", "badge")[0].text == "pass"


def test_why_a_figure_is_missing_is_said_once_for_all_its_partitions(run: Copy) -> None:
    root = page(judged(run, a.idle_through_the_fault, expect=("no_lost_acknowledged",)))
    notes = [one.text for one in root.all("p", "note") if "no load while the fault was in force" in one.text]
    assert len(notes) == 1
    assert str(run.partition) in notes[0]


def test_many_partitions_stay_below_the_limit(good: Copy, run: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    header = RunHeader.load(run.run_dir)
    replace(header, topics=tuple(replace(topic, partitions=120) for topic in header.topics)).save(run.run_dir)
    observed = run.run_dir / "observations.jsonl"
    lines = observed.read_text().splitlines()
    others = [line.replace('"partition": 1,', f'"partition": {i},') for line in lines for i in range(2, 120)]
    observed.write_text("\n".join([*lines, *(line for line in others if '"partition"' in line)]) + "\n")
    phases = whole_run(good.run_dir).phases
    monkeypatch.setattr(page_module, "ROWS_MAX", len(phases))
    text = as_html([replace(whole_run(run.run_dir), phases=phases * 2)])
    parsed(text)
    assert len(text.encode()) < SIZE_MAX_BYTES / 3
    assert "60 more partitions" in text
    assert f"and {len(phases)} more, in result.json" in text


@pytest.mark.parametrize(("begin_s", "end_s"), [(-17.9, 41.7), (-0.8, 2.5), (0, 0.011), (-3, 86_400)])
def test_ticks_are_round_and_few_and_never_twice_at_one_place(begin_s: float, end_s: float) -> None:
    made = list(ticks(begin_s, end_s))
    assert len({tick.x for tick in made}) == len(made)
    coarse = [tick for tick in made if tick.level == 0]
    assert 4 <= len(coarse) <= 12
    steps = {round(float(b.label.removesuffix("k")) - float(a.label.removesuffix("k")), 6) for a, b in pairwise(coarse)}
    assert len(steps) <= 2


def test_a_nice_number_is_not_below() -> None:
    assert [nice(value) for value in (0.011, 1, 1.1, 3, 7, 99)] == [pytest.approx(v) for v in (0.02, 1, 2, 5, 10, 100)]
