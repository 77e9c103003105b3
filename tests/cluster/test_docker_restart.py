"""Restart and crash loop on a real cluster: each end and each start is the engine's own account of it."""

import pytest

from chaoskafka.cluster.abilities import Cluster
from chaoskafka.cluster.targets import Target
from chaoskafka.faults.crash_loop import CrashLoop
from chaoskafka.faults.ending import CanEnd
from chaoskafka.faults.restart import Restart
from tests.cluster.conftest import On

pytestmark = [pytest.mark.docker, pytest.mark.nightly]
TARGET = Target.parse("broker 2")


@pytest.fixture
def node(three: Cluster) -> CanEnd:
    found = three.nodes[2]
    assert isinstance(found, CanEnd)
    return found


def test_a_restart_ends_one_process_and_starts_another(three: Cluster, node: CanEnd) -> None:
    before = node.state()
    with Restart(target=TARGET).inject(On((node,), three)) as hit:
        assert node.state().running
        assert node.state().started_at != before.started_at
        assert hit.proof["node-2"]["exit_code"] == 143  # type: ignore[index]
    assert hit.heal_proof is not None


def test_a_crash_loop_is_so_many_deaths_of_so_many_processes(three: Cluster, node: CanEnd) -> None:
    with CrashLoop(target=TARGET, times=2).inject(On((node,), three)) as hit:
        deaths = [hit.proof, *hit.proof["again"]]  # type: ignore[misc]
        assert {death["node-2"]["exit_code"] for death in deaths} == {137}
        assert len({death["node-2"]["process_started_at"] for death in deaths}) == 3
        assert not node.state().running
    assert hit.heal_proof is not None
    assert node.state().running
