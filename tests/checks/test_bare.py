"""A run that broke off early leaves little: every check says unknown, and none of them breaks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from chaoskafka.history.read import open_history
from chaoskafka.scenario.catalogue import Kind, find, members
from chaoskafka.timing.failover import failover
from chaoskafka.verdict import Answer
from tests.histories.builder import build
from tests.histories.copy import Copy
from tests.histories.shape import Shape

SETTINGS = {"unavailable": {"at_most_s": 30.0}, "new_leader": {"within_s": 30.0}}


def without_topics(copy: Copy) -> None:
    """The header as it is before anything was started."""
    copy.header(topics=[], workloads=[], broker_settings={})
    nothing_recorded(copy)


def nothing_recorded(copy: Copy) -> None:
    for name in ("ops", "audit"):
        shutil.rmtree(copy.run_dir / name)
    (copy.run_dir / "observations.jsonl").unlink()
    (copy.run_dir / "events.jsonl").write_text("")


def nothing_written_by_workers(copy: Copy) -> None:
    shutil.rmtree(copy.run_dir / "ops")


def nothing_audited(copy: Copy) -> None:
    shutil.rmtree(copy.run_dir / "audit")


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy.at(build(tmp_path / "run", Shape(partitions=2, before_s=2)))


@pytest.mark.parametrize("strip", [without_topics, nothing_recorded])
def test_a_bare_run_is_unknown_to_every_check(strip: object, copy: Copy) -> None:
    assert callable(strip)
    strip(copy)
    history = open_history(copy.run_dir)
    for word in members(Kind.CHECK):
        verdict = find(Kind.CHECK, word)(**SETTINGS.get(word, {})).check(history)
        assert verdict.answer is Answer.UNKNOWN, (word, verdict)
        assert verdict.summary
    assert failover(history) == ()


@pytest.mark.parametrize("strip", [nothing_written_by_workers, nothing_audited])
def test_a_part_that_is_missing_passes_nothing_that_needs_it(strip: object, copy: Copy) -> None:
    assert callable(strip)
    strip(copy)
    history = open_history(copy.run_dir)
    by_the_run_alone = {"took_effect", "recovered", "new_leader"}
    by_workers_alone = {"accounted", "clients_alive", "progress", "unavailable"}
    free = by_the_run_alone | (by_workers_alone if strip is nothing_audited else set())
    for word in members(Kind.CHECK):
        answer = find(Kind.CHECK, word)(**SETTINGS.get(word, {})).check(history).answer
        assert answer is not Answer.PASS or word in free, word
