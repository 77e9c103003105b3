"""What a run may use, and what there is: too many runs at once are refused before one of them is starved."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.fleet.room import Room, need_of
from chaoskafka.scenario.load import load_text
from tests.rehearsals import SCENARIO


@pytest.mark.parametrize(
    ("cluster", "runtime", "needed"),
    [
        ("{nodes: 3}", "docker", Room(3 * 900 + 1024, 2.0)),
        ("{brokers: 3, controllers: 3}", "process", Room(6 * 900 + 1024, 4.0)),
        ("{nodes: 3, memory_mib: 600, heap_mib: 300}", "docker", Room(3 * 600 + 1024, 2.0)),
        ("{nodes: 3}", "fake", Room(512, 1.0)),
    ],
)
def test_a_run_needs_what_its_nodes_may_use_and_something_beside(cluster: str, runtime: str, needed: Room) -> None:
    assert need_of(load_text(f"cluster: {cluster}\n{SCENARIO}", name="case"), runtime) == needed


def test_thirds_of_a_core_add_up() -> None:
    third = Room(1, 1 / 3)
    assert Room(3, 1.0).carries(third + third + third)
    assert not Room(3, 0.9).carries(third + third + third)
    assert not Room(2, 1.0).carries(third + third + third)


def test_memory_is_what_the_kernel_calls_available(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       99999999 kB\nMemFree:  1 kB\nMemAvailable:     204800 kB\n")
    here = Room.here(meminfo)
    assert here.memory_mib == 200
    assert here.cores >= 1
