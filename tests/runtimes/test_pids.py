"""Never a stranger's process: what makes a pid ours."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from chaoskafka.runtimes.docker import pids
from chaoskafka.runtimes.owner import process_started_ticks

ID = "0123456789abcdef" * 4
OTHER = "f" * 64


@pytest.mark.parametrize(
    ("cgroups", "ours"),
    [
        (f"12:memory:/docker/{ID}\n1:name=systemd:/docker/{ID}\n0::/system.slice/docker.service\n", True),  # v1
        (f"0::/system.slice/docker-{ID}.scope\n", True),  # v2 with the systemd driver
        (f"0::/docker/{ID}\n", True),  # v2 with the cgroupfs driver
        (f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{ID}.scope\n", True),  # rootless
        (f"0::/../{ID}\n", True),  # seen from a cgroup namespace
        (f"0::/kubepods/pod1/docker-{ID}.scope/init\n", True),  # nested deeper
        (f"4:memory:/docker/{OTHER}/docker/{ID}\n", True),  # an engine that runs in a container itself
        (f"0::/user.slice/user-1000.slice/user@1000.service/app.slice/docker-{ID}.scope\n", True),
        (f"0::/actions_job/{ID}\n", True),  # a --cgroup-parent
        (f"0::/machine.slice/libpod-{ID}.scope/container\n", True),  # Podman
        (f"9:pids:/libpod_parent/libpod-{ID}\n", True),  # Podman, v1
        (f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope\n", True),  # rootless
        (f"0::/kubepods.slice/cri-containerd-{ID}.scope\n", True),
        (f"0::/machine.slice/libpod-conmon-{ID}.scope\n", False),  # Podman's monitor, outside of the container
        (f"0::/system.slice/docker-{ID}.service\n", False),
        (f"0::/docker/{ID}.slice\n", False),
        (f"0::/docker/{ID.upper()}\n", False),
        (f"0::/docker:{ID}\n", False),
        (f"0::/docker/{OTHER}\n", False),
        (f"0::/docker/{ID}0\n", False),
        (f"0::/docker/{ID[:12]}\n", False),
        ("0::/\n", False),
        ("", False),
        (f"{ID}\n", False),
    ],
)
def test_cgroups(cgroups: str, ours: bool) -> None:
    assert pids.names_container(cgroups, ID) is ours


@pytest.mark.parametrize("container_id", ["", ID[:12], "g" * 64])
def test_only_a_full_id_names_a_container(container_id: str) -> None:
    assert not pids.names_container(f"0::/docker/{container_id}\n", container_id)


def test_a_stranger_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        with pytest.raises(pids.NotOurs, match="cgroup"):
            pids.send(stranger.pid, signal.SIGKILL, container_id=ID, created=datetime.now(UTC).isoformat())
        assert stranger.poll() is None
        stranger.communicate(b"\n")
    assert stranger.returncode == 0


def test_a_dead_pid_is_nobody() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    with pytest.raises(pids.NotOurs):
        pids.send(gone.pid, signal.SIGKILL, container_id=ID, created=datetime.now(UTC).isoformat())


def test_our_own_network_is_not_a_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pids, "names_container", lambda cgroups, container_id: True)
    with pytest.raises(pids.NotOurs, match="network namespace"):
        pids.check(os.getpid(), container_id=ID, created=datetime.now(UTC).isoformat())


def test_the_engines_times() -> None:
    moment = datetime(2026, 11, 30, 10, 51, 0, 935938, tzinfo=UTC)
    assert pids.wall_time_s("2026-11-30T10:51:00.935938225Z") == moment.timestamp()
    assert pids.wall_time_s("2026-11-30T10:51:00Z") == moment.replace(microsecond=0).timestamp()
    assert (
        pids.wall_time_s("2026-11-30T12:51:00.9+02:00")
        == (moment.replace(microsecond=0) + timedelta(seconds=0.9)).timestamp()
    )


def test_ages() -> None:
    assert process_started_ticks(os.getpid()) == process_started_ticks(os.getpid())
    age_s = pids._age_s(os.getpid())
    assert age_s is not None
    assert 0 < age_s < time.clock_gettime(time.CLOCK_BOOTTIME)
    assert process_started_ticks(2**22 + 1) is None  # above the largest pid of Linux
