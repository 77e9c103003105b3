"""What the machine has left: read from files as kernels write them, judged by limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka import machine
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.machine import Cores

PRESSURE = """\
some avg10=83.90 avg60=27.63 avg300=13.71 total=5812676789
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
"""


def test_pressure_is_read_and_told(tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text(PRESSURE)
    now = machine.cores(tmp_path / "cpu")
    assert now.waiting_percent == 83.9
    assert now.starved
    assert "84 % of the time tasks wait for one" in str(now)


def test_a_kernel_without_pressure_says_nothing(tmp_path: Path) -> None:
    now = machine.cores(tmp_path / "absent")
    assert now.waiting_percent is None
    assert not now.starved
    assert now.usable >= 1


def test_when_there_is_no_hope() -> None:
    assert not Cores(usable=2, waiting_percent=100.0, load=99.0).hopeless
    assert Cores(usable=2, waiting_percent=None, load=100.0).hopeless


@pytest.mark.parametrize(
    ("name", "text", "limit"),
    [
        ("sys/fs/cgroup/memory.max", "536870912\n", 512),
        ("sys/fs/cgroup/memory.max", "max\n", None),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n", 512),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n", None),
        ("elsewhere", "", None),
    ],
)
def test_the_limit_of_a_control_group(name: str, text: str, limit: int | None, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert machine.memory_limit_mib(tmp_path) == limit


def test_room_is_read_where_a_directory_would_be_made(tmp_path: Path) -> None:
    assert abs(machine.free_mib(tmp_path / "not" / "yet") - machine.free_mib(tmp_path)) < 1024


def test_too_little_room_names_the_place_and_what_mends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.check_run_directory(tmp_path)
    monkeypatch.setattr(machine, "RUN_DISK_MIB", 1 << 40)
    with pytest.raises(EnvironmentFailure, match=f"the disk of {tmp_path} has [0-9]+ MiB left") as failed:
        machine.check_run_directory(tmp_path)
    assert "--out DIR" in (failed.value.mend or "")


def test_doubts_are_told_and_no_hope_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "STARVED_PERCENT", 0.0)
    assert any("cores are starved" in doubt for doubt in machine.doubts())
    monkeypatch.setattr(machine, "HOPELESS_LOAD", 0.0)
    with pytest.raises(EnvironmentFailure, match="overloaded"):
        machine.doubts()


def test_how_long_tasks_waited_is_counted_from_the_kernels_start(tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text(PRESSURE)
    assert machine.waited_ns(tmp_path / "cpu") == 5812676789_000
    assert machine.waited_ns(tmp_path / "absent") is None
    (tmp_path / "odd").write_text("whatever\n")
    assert machine.waited_ns(tmp_path / "odd") is None
