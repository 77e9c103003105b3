from __future__ import annotations

from pathlib import Path

from chaoskafka.history.read import open_history
from chaoskafka.scenario.catalogue import Kind, find, members
from chaoskafka.verdict import Answer
from tests.histories.builder import build
from tests.histories.record import record
from tests.histories.shape import Shape

LIMITS = {"unavailable": {"at_most_s": 30.0}, "new_leader": {"within_s": 30.0}}


def test_what_is_cut_from_a_good_run_is_a_good_run(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Shape(partitions=3))
    base = record(run, tmp_path / "base", partitions=2)
    history = open_history(base)
    assert [str(partition) for partition in history.partitions] == ["orders/0", "orders/1"]
    answers = {word: find(Kind.CHECK, word)(**LIMITS.get(word, {})).check(history) for word in members(Kind.CHECK)}
    assert {word: verdict.answer for word, verdict in answers.items()} == dict.fromkeys(answers, Answer.PASS)
    whole = find(Kind.CHECK, "accounted")().check(open_history(run))
    assert answers["accounted"].counted == whole.counted * 2 // 3
