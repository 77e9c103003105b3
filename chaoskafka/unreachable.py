"""Why no Docker engine answers, and the command that mends it.

In: the error of whatever tried to connect. Out: its meaning in words. Decided by the types of the errors in its chain,
never by their text; no engine's SDK is imported, so whoever builds images and whoever runs clusters say the same.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass

_START = "sudo systemctl start docker   # none installed: sudo apt-get install docker.io iptables"
_ALLOW = "sudo usermod -aG docker $(id -un)   # then log in again"
_ELSEWHERE = "unset DOCKER_HOST   # or start the engine that it names"
_CHAIN_MAX = 32  # errors looked at: a chain that is longer goes in circles


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """What is wrong with the way to the engine, and what mends it."""

    meaning: str
    mend: str


def why_unreachable(error: BaseException) -> Unreachable:
    """Reads DOCKER_HOST: an engine that was chosen by it is not ours to start."""
    start = _ELSEWHERE if os.environ.get("DOCKER_HOST") else _START
    for each in _chain(error):
        if isinstance(each, PermissionError):
            return Unreachable(meaning="you may not use the Docker engine", mend=_ALLOW)
        if isinstance(each, FileNotFoundError):
            return Unreachable(meaning="no Docker engine runs: there is no such socket", mend=start)
        if isinstance(each, ConnectionRefusedError):
            return Unreachable(meaning="no Docker engine runs: nobody listens there", mend=start)
        if isinstance(each, socket.gaierror):
            return Unreachable(meaning="no Docker engine answers: its host is not known", mend=start)
    return Unreachable(meaning="no Docker engine answers", mend=start)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that it names as its reasons: causes, contexts, and arguments (as urllib3 does)."""
    waiting, seen = [error], list[BaseException]()
    while waiting and len(seen) < _CHAIN_MAX:
        each = waiting.pop(0)
        if any(each is known for known in seen):
            continue
        seen.append(each)
        yield each
        reasons = (each.__cause__, each.__context__, getattr(each, "reason", None), *each.args)
        waiting += [reason for reason in reasons if isinstance(reason, BaseException)]
