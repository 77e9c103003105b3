"""What a sweep takes back by the ledger, where no engine is needed: each verb is known, nothing foreign is touched."""

from __future__ import annotations

from typing import Any

from chaoskafka.cluster.undo import Owed, Undo
from chaoskafka.runtimes.docker import sweep
from chaoskafka.runtimes.docker.labels import Part

NO_ENGINE: Any = None


def owed(undo: Undo, detail: str = "") -> Owed:
    return Owed(fault=0, word="isolate", node="node-1", undo=undo, detail=detail)


def test_every_undo_has_its_performer() -> None:
    assert set(sweep._UNDO) == set(Undo)


def test_a_table_that_is_not_ours_is_left_alone() -> None:
    found = sweep._Found(nodes={"node-1": {Part.HOST: "host", Part.KAFKA: "kafka"}})
    said = sweep._take_back(NO_ENGINE, found, owed(Undo.LIFT, "filter"))
    assert said == "could not be undone: 'filter' is no table of ours: chaoskafka_… of letters, digits and _"


def test_what_is_gone_needs_no_undo() -> None:
    found = sweep._Found(nodes={"node-1": {Part.HOST: "host"}})
    for undo in Undo:
        assert sweep._take_back(NO_ENGINE, found, owed(undo)) == "nothing is left of it"
