"""What a sweep takes back by the ledger, where no engine is needed: each verb is known, nothing foreign is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaoskafka.cluster.undo import Owed, Undo
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes.docker import sweep
from chaoskafka.runtimes.docker.labels import Part
from chaoskafka.runtimes.ledger import ledger_path
from chaoskafka.runtimes.locks import runs_directory
from chaoskafka.runtimes.report import SweepReport

NO_ENGINE: Any = None
FOREIGN = "'filter' is no table of ours: chaoskafka_… of letters, digits and _"


def owed(undo: Undo, detail: str = "") -> Owed:
    return Owed(fault=0, word="isolate", node="node-1", undo=undo, detail=detail)


def test_every_undo_has_its_performer() -> None:
    assert set(sweep._UNDO) == set(Undo)


def test_a_table_that_is_not_ours_is_left_alone() -> None:
    found = sweep._Found(nodes={"node-1": {Part.HOST: "host", Part.KAFKA: "kafka"}})
    with pytest.raises(EnvironmentFailure) as refused:
        sweep._take_back(NO_ENGINE, found, owed(Undo.LIFT, "filter"))
    assert refused.value.problem == FOREIGN


@pytest.mark.parametrize("stands", [True, False])
def test_what_cannot_be_taken_back_is_remembered_where_the_cluster_stands(
    stands: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    entry = '{"owed": 1, "fault": 0, "word": "isolate", "node": "node-1", "undo": "lift", "detail": "filter"}'
    runs_directory()
    ledger_path("r1").write_text(f'{{"format": 1, "run_id": "r1"}}\n{entry}\n')
    found = sweep._Found(nodes={"node-1": {Part.HOST: "host", Part.KAFKA: "kafka"}}, stands=stands)
    report, told = SweepReport(), f"isolate of node-1: could not be undone: {FOREIGN}"
    if stands:
        with pytest.raises(EnvironmentFailure, match="no table of ours") as kept:
            sweep._heal(NO_ENGINE, "r1", found, report)
        assert kept.value.mend == "chaoskafka down r1"
    else:
        sweep._heal(NO_ENGINE, "r1", found, report)
    assert report.undone == {"r1": [told]}
    assert ledger_path("r1").exists() is stands


def test_what_is_gone_needs_no_undo() -> None:
    found = sweep._Found(nodes={"node-1": {Part.HOST: "host"}})
    for undo in Undo:
        assert sweep._take_back(NO_ENGINE, found, owed(undo)) == "nothing is left of it"
