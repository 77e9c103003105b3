"""The networks of a cluster of processes, as text for a shell inside the supervisor's namespaces. Pure.

A bridge stands in the supervisor's own network namespace; each node and each client has a namespace of its own, mounted
on a file, and a pair of virtual interfaces to the bridge. Namespace, address and rules outlive the processes in it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from chaoskafka.runtimes.process.layout import BRIDGE, PREFIX

INTERFACE = "eth0"  # inside every namespace


def bridge(hosts_file: Path) -> str:
    """The bridge, and the names of nodes for everybody inside."""
    return "\n".join(
        [
            "ip link set lo up",
            "ip link add bridge0 type bridge",
            f"ip address add {BRIDGE}/{PREFIX} dev bridge0",
            "ip link set bridge0 up",
            f"mount --bind {shlex.quote(str(hosts_file))} /etc/hosts",
        ]
    )


def place(namespace: Path, address: str) -> str:
    """A namespace with an address on the bridge. Its outer interface is named after the address: at most 15 letters."""
    file = shlex.quote(str(namespace))
    outer = "v" + "-".join(address.split(".")[2:])
    enter = f"nsenter --net={file} ip"
    return "\n".join(
        [
            f": > {file}",
            f"unshare --net={file} true",
            f"ip link add {outer} type veth peer name {INTERFACE} netns {file}",
            f"ip link set {outer} master bridge0 up",
            f"{enter} link set lo up",
            f"{enter} address add {address}/{PREFIX} dev {INTERFACE}",
            f"{enter} link set {INTERFACE} up",
        ]
    )


def script(parts: Sequence[str]) -> str:
    """One shell script that stops at the first error."""
    return "\n".join(["set -e", *parts, ""])
