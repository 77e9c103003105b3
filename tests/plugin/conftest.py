"""pytest within pytest: tests of a user, run on the fake runtime, as fast as it goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from chaoskafka.fleet.playing import RUNTIMES
from chaoskafka.rehearsal import Rehearsal
from chaoskafka.runtimes.fake.lies import Lie
from chaoskafka.testing import traffic
from tests.rehearsals import hurry

INI = """
[pytest]
chaoskafka_runtime = fake
addopts = -p no:randomly -p no:cacheprovider
"""
HEAD = """
import pytest
from chaoskafka.testing import *

pytestmark = pytest.mark.kafka_traffic(partitions=2, rate_per_s=400, message_bytes=60)
"""
KILL = """
def test_a_killed_leader_loses_nothing(traffic, chaos):
    with chaos.kill(leader_of(traffic.topic), for_s=0.1): pass
    traffic.verify()
"""

Run = Callable[..., pytest.RunResult]
Fake = Callable[..., Rehearsal]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fake:
    """The runtime `fake` tells these lies from now on."""
    hurry(monkeypatch)
    monkeypatch.setattr(traffic, "HANDLED_APART_S", 0.05)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("RUNTIME", "OUT", "SEED", "SCOPE"):
        monkeypatch.delenv(f"CHAOSKAFKA_{name}", raising=False)

    def tell(*lies: Lie) -> Rehearsal:
        rehearsal = Rehearsal(lies=frozenset(lies))
        monkeypatch.setitem(RUNTIMES, "fake", rehearsal.runtime)  # type: ignore[arg-type]
        return rehearsal

    tell()
    return tell


@pytest.fixture
def run(pytester: pytest.Pytester, fake: Fake) -> Run:
    """Run the tests of a user in this process."""
    pytester.makeini(INI)

    def play(text: str, *options: str, head: str = HEAD, ctrl_c: bool = False) -> pytest.RunResult:
        """`ctrl_c`: the tests are going to be interrupted, and this session is not."""
        pytester.makepyfile(test_orders=head + text)
        return pytester.runpytest_inprocess(*options, no_reraise_ctrlc=ctrl_c)

    return play


def latest(pytester: pytest.Pytester) -> Path:
    """The run directory of the only test."""
    (above,) = (pytester.path / "runs").iterdir()
    return above / "latest"
