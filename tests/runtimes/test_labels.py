"""Labels: everything that a run creates says whose it is."""

import os
from pathlib import Path

import pytest

from chaoskafka.runtimes.docker import labels
from chaoskafka.runtimes.docker.labels import Owner, Part
from chaoskafka.runtimes.docker.sweep import why_alive


def test_labels_of_a_node() -> None:
    found = labels.labels("r1", Part.KAFKA, "node-1")
    assert found == {
        "chaoskafka.run": "r1",
        "chaoskafka.role": "kafka",
        "chaoskafka.node": "node-1",
        "chaoskafka.owner": str(labels.this_owner()),
    }
    assert "chaoskafka.node" not in labels.labels("r1", Part.NETWORK)


def test_owners_survive_text() -> None:
    owner = labels.this_owner()
    assert owner.pid == os.getpid()
    assert Owner.parse(str(owner)) == owner


@pytest.mark.parametrize("text", ["", "unknown", "a/b/c/d", "a/b/1", "a/b/1/2/3"])
def test_foreign_owner_labels(text: str) -> None:
    assert Owner.parse(text) is None


def changed(**fields: object) -> str:
    owner = labels.this_owner()
    parts = {"machine": owner.machine, "boot": owner.boot, "pid": owner.pid, "started_ticks": owner.started_ticks}
    return str(Owner(**{**parts, **fields}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("owner", "all_runs", "why"),
    [
        (changed(), True, "its harness lives"),  # although its lock file is lost
        (changed(started_ticks=1), False, None),  # the pid was reused
        (changed(boot="earlier"), False, None),
        (changed(machine="elsewhere"), False, "started elsewhere"),
        (changed(machine="elsewhere"), True, None),
        ("unknown", False, "started elsewhere"),
        ("unknown", True, None),
    ],
    # The same on every machine and in every process, unlike the labels themselves.
    ids=["living", "pid reused", "earlier boot", "elsewhere", "elsewhere, all", "unknown", "unknown, all"],
)
def test_who_lives(
    owner: str, all_runs: bool, why: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = why_alive("r1", {owner}, all_runs=all_runs)
    assert found is None if why is None else found is not None and why in found
