"""Pause on a real cluster: seen to bite, seen to heal as the same process, and no obstacle to a removal."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from chaoskafka.cluster.abilities import CanKill, CanPause, Cluster, Knock
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed
from chaoskafka.faults.pause import Pause
from chaoskafka.runtimes.docker import pids
from chaoskafka.runtimes.docker.node import DockerNode
from tests.cluster.conftest import On, wait_for_answers

pytestmark = [pytest.mark.docker, pytest.mark.nightly]

STRANGER = "for this test"


@pytest.fixture
def node(three: Cluster) -> Iterator[DockerNode]:
    found = three.nodes[2]
    assert isinstance(found, DockerNode)
    yield found
    found.restore(within_s=60)
    wait_for_answers(three)


@pytest.fixture(params=["by signal", "by engine"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to freeze a process: its own pid, and what is left to a harness that may not use it."""
    if request.param == "by engine":

        def refuse(*_: Any, **__: Any) -> int:
            raise pids.NotOurs(STRANGER)

        monkeypatch.setattr(pids, "send_if_ours", refuse)
    return str(request.param)


def pause(**fields: float) -> Pause:
    return Pause(target=Target.parse("broker 2"), **fields)


def test_it_bites_and_heals(node: DockerNode, way: str) -> None:
    before = node.state()
    with pause().inject(On((node,))) as hit:
        seen = hit.proof["node-2"]
        assert isinstance(seen, dict)
        assert (seen["knock"], seen["frozen"]) == ("mute", True)
        assert ("SIGSTOP" if way == "by signal" else STRANGER) in seen["means"]
        assert node.knock(Plane.CLIENTS.port) is Knock.ANSWERED  # the kernel does
        assert node.knock(Plane.CONTROLLER.port, speak=True) is Knock.MUTE
        with pytest.raises(FaultFailed, match="node-2 was frozen already"), pause().inject(On((node,))):
            pytest.fail("it was entered")
    assert hit.heal_proof is not None
    assert node.state() == before


@pytest.mark.usefixtures("way")
def test_a_frozen_node_is_restored(node: DockerNode) -> None:
    before = node.state()
    node.pause()
    node.restore(within_s=10)
    assert node.state() == before
    assert node.knock(Plane.REPLICATION.port, speak=True, within_s=5, until=Knock.ANSWERED) is Knock.ANSWERED


@pytest.mark.usefixtures("way")
def test_a_frozen_node_can_be_stopped_within_its_time(node: DockerNode) -> None:
    node.pause()
    began = time.monotonic()
    assert not node.stop(within_s=2).running
    assert time.monotonic() - began < 20


def test_a_stopped_process_can_be_killed_at_once(node: DockerNode) -> None:
    assert isinstance(node, CanPause)
    assert isinstance(node, CanKill)
    node.pause()
    node.kill()
    assert node.knock(Plane.REPLICATION.port, within_s=5, until=Knock.REFUSED) is Knock.REFUSED
