from __future__ import annotations

import shutil
from pathlib import Path

from chaoskafka.history.read import open_history
from chaoskafka.scenario.catalogue import Kind, find
from chaoskafka.verdict import Answer
from tests.histories import alterations
from tests.histories.builder import build
from tests.histories.copy import Copy
from tests.histories.record import record
from tests.histories.shape import Shape
from tests.histories.words import PASSED_BY_A_FAILOVER

LIMITS = {"unavailable": {"at_most_s": 30.0}, "new_leader": {"within_s": 30.0}}


def test_an_altered_copy_becomes_the_original_again(tmp_path: Path) -> None:
    original = Copy.at(build(tmp_path / "run", Shape(partitions=2, before_s=2)))
    copy = original.into(tmp_path / "copy")
    alterations.lose_one(copy)
    alterations.tear_a_producer_tape(copy)
    alterations.observe_nothing(copy)
    (copy.run_dir / "events.jsonl").unlink()
    (copy.run_dir / "result.json").write_text("{}")
    shutil.rmtree(copy.run_dir / "ops/read")
    (copy.run_dir / "ops/more/of").mkdir(parents=True)
    assert contents(copy.run_dir) != contents(original.run_dir)
    assert contents(original.into(tmp_path / "copy").run_dir) == contents(original.run_dir)


def contents(directory: Path) -> dict[Path, bytes | None]:
    found = sorted(directory.rglob("*"))
    return {path.relative_to(directory): None if path.is_dir() else path.read_bytes() for path in found}


def test_what_is_cut_from_a_good_run_is_a_good_run(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Shape(partitions=3))
    base = record(run, tmp_path / "base", partitions=2)
    history = open_history(base)
    assert [str(partition) for partition in history.partitions] == ["orders/0", "orders/1"]
    answers = {word: find(Kind.CHECK, word)(**LIMITS.get(word, {})).check(history) for word in PASSED_BY_A_FAILOVER}
    assert {word: verdict.answer for word, verdict in answers.items()} == dict.fromkeys(answers, Answer.PASS)
    whole = find(Kind.CHECK, "accounted")().check(open_history(run))
    assert answers["accounted"].counted == whole.counted * 2 // 3
