"""Sides: what runs and baselines hold, what is no sample, and files that are neither."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.errors import HistoryError
from chaoskafka.statistics.side import load_side
from chaoskafka.verdict import Answer
from tests.statistics.made import keep, result_of, step


def elected(number: int, took: float = 3.0) -> Any:
    return result_of(number, [step("elect", (took, took + 0.1))])


@pytest.mark.parametrize("depth", ["", "killed", "killed/more"])
def test_runs_are_found_where_a_call_leaves_them(tmp_path: Path, depth: str) -> None:
    for number in (1, 2):
        keep(tmp_path / "out" / depth, elected(number))
    where = tmp_path / "out" if depth != "killed/more" else tmp_path / "out" / "killed"
    assert load_side([where]).runs == 2


def test_what_a_side_was_made_with_holds_every_value(tmp_path: Path) -> None:
    keep(tmp_path, elected(1))
    keep(tmp_path, replace(elected(2), versions={"kafka": "4.4.0"}))
    made_with = load_side([tmp_path]).made_with
    assert made_with["kafka"] == ("4.2.2", "4.4.0")
    assert made_with["runtime"] == ("docker",)
    assert {"nodes", "plan", "topic orders"} <= made_with.keys()
    assert any(key.startswith("produce ") for key in made_with)


def test_what_timed_nothing_of_kafka_is_named_and_not_counted(tmp_path: Path) -> None:
    good = elected(1)
    keep(tmp_path, good)
    keep(tmp_path / "again", good)
    keep(tmp_path, replace(elected(2), runtime="fake"))
    keep(tmp_path, replace(elected(3), phases=()))
    keep(tmp_path, replace(elected(4), checks=(replace(good.checks[0], answer=Answer.UNKNOWN),)))
    (keep(tmp_path, elected(5)) / "result.json").unlink()
    side = load_side([tmp_path, tmp_path / "again"])
    assert side.runs == 1
    assert sorted(one.why for one in side.unmeasured) == [
        "a rehearsal: no Kafka was there",
        "its faults were not all seen to bite and to heal",
        "no step of a failover was timed",
        "not judged",
    ]


def test_the_link_to_the_latest_run_is_no_run_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(keep(tmp_path, elected(1)).name)
    side = load_side([tmp_path])
    assert (side.runs, side.unmeasured) == (1, ())
    assert load_side([tmp_path / "latest"]).runs == 1


def test_a_name_that_no_file_can_have_is_told() -> None:
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(HistoryError):
            load_side([Path(name)])


def test_a_baseline_is_read_as_it_was_saved(tmp_path: Path) -> None:
    keep(tmp_path, result_of(1, [step("elect", (3.0, 3.1), bound=(2.0, 4.0)), step("commit", None)]))
    side = load_side([tmp_path])
    side.save(tmp_path / "base.json")
    assert load_side([tmp_path / "base.json"]) == side


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("{}", "not a baseline of this format"),
        ('{"format": 2, "kind": "chaoskafka failover times"}', "not a baseline of this format"),
        ('{"format": 1, "kind": "chaoskafka failover times"}', "damaged"),
        ('{"format": 1, "kind": "chaoskafka failover times", "side": {"name": 1}}', "damaged"),
    ],
)
def test_what_is_no_baseline_is_named(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "base.json"
    path.write_text(content)
    with pytest.raises(HistoryError, match=f"base.json: {told}"):
        load_side([path])


def test_one_wrong_value_in_a_baseline_is_named(tmp_path: Path) -> None:
    keep(tmp_path, elected(1))
    path = tmp_path / "base.json"
    load_side([tmp_path]).save(path)
    document = json.loads(path.read_text())
    document["side"]["metrics"]["killed/kill.elect"]["samples"][0]["lo_s"] = "soon"
    path.write_text(json.dumps(document))
    with pytest.raises(HistoryError, match="lo_s"):
        load_side([path])


def test_a_place_without_runs_is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="neither a run directory"):
        load_side([tmp_path])
    with pytest.raises(HistoryError, match="neither a run directory"):
        load_side([tmp_path / "missing"])
