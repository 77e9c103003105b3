"""A supervisor without namespaces: real processes, and that nothing of them is left, whatever ends it."""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes import locks
from chaoskafka.runtimes.process import control, sweep
from chaoskafka.runtimes.process.control import Supervised, surroundings
from chaoskafka.runtimes.process.layout import Layout
from chaoskafka.runtimes.process.open import check_ports
from chaoskafka.runtimes.process.supervisor import MARK

ENDS_S = 20.0  # of processes that were killed: hundredths of a second

# A child, and one that has no parent any more and is in a session of its own.
TWO = ["sh", "-c", "(setsid sleep 600 &); exec sleep 600"]
LIVES = f"""
import sys
from chaoskafka.runtimes.locks import cluster_directory, run_lock
from chaoskafka.runtimes.process.control import Supervised, surroundings
with run_lock(sys.argv[1]):
    root = cluster_directory(sys.argv[1])
    inside = Supervised(root, plain=True)
    inside.start()
    log = str(root / "log")
    child = inside.ask(
        "start", name="two", argv={TWO}, env=surroundings(), cwd=str(root), at=None, stdout=log, stderr=log
    )
    print(inside.pid, child["pid"], flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def of_run(name: str) -> set[int]:
    """Every process that was started for that run, but for those that have ended."""
    mark = f"{MARK}={name}{locks.CLUSTER}".encode()
    return {int(path.name) for path in Path("/proc").glob("[0-9]*") if sweep._is_marked(int(path.name), mark)}


def await_number(name: str, number: int) -> set[int]:
    return wait_until(
        f"{number} processes", read=lambda: of_run(name), good=lambda seen: len(seen) == number, within_s=ENDS_S
    )


@pytest.fixture
def harness() -> Iterator[tuple[str, subprocess.Popen[str], int, int]]:
    """A run's name, its harness, and the pids of its supervisor and of a child that has started another process."""
    name = f"plain-{secrets.token_hex(3)}"
    argv = [sys.executable, "-c", LIVES, name]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            supervisor, child = map(int, process.stdout.readline().split())
            await_number(name, 3)
            yield name, process, supervisor, child
        finally:
            process.kill()


Harness = tuple[str, "subprocess.Popen[str]", int, int]


def test_a_harness_that_is_killed_leaves_no_process(harness: Harness) -> None:
    name, process, _, _ = harness
    assert sweep.sweep().removed == {}
    process.send_signal(signal.SIGKILL)
    process.wait(ENDS_S)
    await_number(name, 0)
    assert sweep.sweep().removed == {name: [str(locks.runs_directory() / f"{name}{locks.CLUSTER}")]}


def test_what_outlives_a_killed_supervisor_is_ended_by_heal(harness: Harness) -> None:
    name, process, supervisor, child = harness
    subprocess.run(["kill", "-KILL", str(supervisor)], check=True)
    (orphan,) = await_number(name, 1)  # the kernel has ended the child
    assert orphan not in (supervisor, child)
    assert sweep.sweep().removed == {}  # its harness lives
    process.send_signal(signal.SIGKILL)
    process.wait(ENDS_S)
    directory = locks.runs_directory() / f"{name}{locks.CLUSTER}"
    assert sweep.sweep().removed == {name: ["its processes", str(directory)]}
    assert of_run(name) == set()


def test_ending_ends_frozen_ones_and_those_without_a_parent(tmp_path: Path) -> None:
    root = tmp_path / f"ends{locks.CLUSTER}"
    root.mkdir()
    inside, log = Supervised(root, plain=True), str(tmp_path / "log")
    inside.start()
    words = {"env": surroundings(), "cwd": str(root), "at": None, "stdout": log, "stderr": log}
    inside.ask("start", name="two", argv=TWO, **words)
    inside.ask("start", name="frozen", argv=["sleep", "600"], **words)
    await_number("ends", 4)
    assert inside.ask("signal", name="frozen", signal=int(signal.SIGSTOP))["sent"]
    wait_until(
        "it to stand still", read=lambda: inside.ask("state", name="frozen")["frozen"], good=bool, within_s=ENDS_S
    )
    assert inside.run(["sh", "-c", "echo said"]).stdout == "said\n"
    inside.end()
    assert of_run("ends") == set()


def test_a_port_that_somebody_has_is_named_with_who_to_look_for() -> None:
    layout = Layout(root=Path("/r"), spec=ClusterSpec(nodes=1), loopback="127.91.17")
    check_ports(layout)
    with (
        socket.create_server(("127.91.17.1", Plane.REPLICATION.port)),
        pytest.raises(EnvironmentFailure, match=r"port 19092 of 127\.91\.17\.1: Address already in use") as failed,
    ):
        check_ports(layout)
    assert (failed.value.mend or "").startswith("ss -ltnp 'sport = :19092'")


def test_without_setpriv_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="setpriv is not installed") as failed:
        Supervised(tmp_path, plain=True).start()
    assert "util-linux" in (failed.value.mend or "")


@pytest.mark.parametrize(
    ("unshare", "why"),
    [
        (("true",), ""),
        (("sh", "-c", "echo no >&2; exit 1"), "no"),
        (("false",), "false ended with 1"),
        (("nowhere/unshare",), "[Errno 2] No such file or directory: 'nowhere/unshare'"),
    ],
)
def test_why_no_namespaces_can_be_made(unshare: tuple[str, ...], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "UNSHARE", unshare)
    assert control.why_no_namespaces() == why
