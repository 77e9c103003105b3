"""Owners: who started a run survives being written down, and is not mistaken."""

import os

import pytest

from chaoskafka.runtimes.owner import Owner, container_named_in, this_owner


def test_owners_survive_text() -> None:
    owner = this_owner()
    assert owner.pid == os.getpid()
    assert Owner.parse(str(owner)) == owner


@pytest.mark.parametrize(
    "text", ["", "unknown", "a/b/1/2", "a/b/c/d/e/f", "a/b/1/2/3", "a/b/1/2/3/4/5", f"a/b/{2**40}/2/3/", "a/b/²/2/3/"]
)
def test_foreign_owner_labels(text: str) -> None:
    assert Owner.parse(text) is None


ID, OUTER = "0123456789abcdef" * 4, "f" * 64
MOUNT = "36 25 8:1 /var/lib/docker/containers/{id}/{file} /etc/{file} rw,relatime - ext4 /dev/vda1 rw"


@pytest.mark.parametrize(
    ("cgroups", "mounts", "container"),
    [
        (f"4:memory:/docker/{ID}\n1:name=systemd:/docker/{ID}\n", "", ID),
        (f"4:memory:/docker/{OUTER}/docker/{ID}\n", "", ID),
        (f"0::/system.slice/docker-{ID}.scope\n", "", ID),
        (f"0::/system.slice/docker-{ID}.scope/init\n", MOUNT.format(id=OUTER, file="hosts"), ID),
        ("0::/\n", MOUNT.format(id=ID, file="hostname"), ID),
        ("0::/\n", f"9 8 0:1 /overlay-containers/{ID}/userdata/hosts /etc/hosts rw - tmpfs tmpfs rw", ID),  # Podman
        ("0::/user.slice/user-0.slice/session-1.scope\n", "25 1 8:1 / / rw - ext4 /dev/vda1 rw", ""),
        ("0::/\n", f"9 8 0:1 /var/lib/docker/containers/{ID}/hosts /elsewhere rw - ext4 /dev/vda1 rw", ""),
        ("", "", ""),
    ],
)
def test_which_container_we_run_in(cgroups: str, mounts: str, container: str) -> None:
    assert container_named_in(cgroups, mounts) == container
