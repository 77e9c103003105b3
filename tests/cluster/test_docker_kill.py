"""Kill on a real cluster: seen to bite, seen to heal, and never taken on trust."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from chaoskafka.cluster.abilities import CanKill, Cluster, Deed, Knock, NodeState
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.spec import NodeSpec
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed
from chaoskafka.faults.kill import Kill
from tests.cluster.conftest import On

pytestmark = pytest.mark.docker


@dataclass
class Lying:
    """A node whose kill says that it worked, and does nothing."""

    real: CanKill

    @property
    def spec(self) -> NodeSpec:
        return self.real.spec

    def state(self) -> NodeState:
        return self.real.state()

    @property
    def address(self) -> str:
        return self.real.address

    def knock(
        self,
        port: int,
        *,
        at: str | None = None,
        speak: bool = False,
        within_s: float = 1.0,
        until: Knock | None = None,
    ) -> Knock:
        return self.real.knock(port, at=at, speak=speak, within_s=within_s, until=until)

    def kill(self) -> Deed:
        return Deed(what="SIGKILL", means="nothing at all", acted_ns=time.monotonic_ns())

    def start(self, *, within_s: float) -> Deed:
        return self.real.start(within_s=within_s)


@pytest.fixture
def node(three: Cluster) -> Iterator[CanKill]:
    found = three.nodes[2]
    assert isinstance(found, CanKill)
    yield found
    assert found.state().running


def kill(**fields: float) -> Kill:
    return Kill(target=Target.parse("broker 2"), **fields)


def test_it_bites_and_heals(node: CanKill) -> None:
    before = node.state()
    with kill().inject(On((node,))) as hit:
        assert hit.targets == (2,)
        assert hit.acted_ns <= time.monotonic_ns()
        seen = hit.proof["node-2"]
        assert isinstance(seen, dict)
        assert (seen["knock"], seen["exit_code"], seen["port"]) == ("refused", 137, Plane.CLIENTS.port)
        assert "pid" in seen["means"]
        assert node.knock(Plane.CLIENTS.port) is Knock.REFUSED
        assert hit.heal_proof is None
    assert hit.heal_proof is not None
    assert node.knock(Plane.CLIENTS.port) is Knock.ANSWERED
    assert node.state().started_at != before.started_at


def test_a_kill_that_does_nothing_is_not_believed(node: CanKill) -> None:
    before = node.state()
    with (
        pytest.raises(FaultFailed, match="nothing at all was not seen to bite"),
        kill(settle_s=1.5).inject(On((Lying(node),))),
    ):
        pytest.fail("it was taken to bite")
    assert node.state() == before


def test_a_dead_node_cannot_be_killed(node: CanKill) -> None:
    with kill().inject(On((node,))):
        with pytest.raises(FaultFailed, match="node-2 was down already"), kill().inject(On((node,))):
            pytest.fail("it was taken to bite")
        with pytest.raises(FaultFailed, match="nothing to kill"):
            node.kill()


def test_it_heals_when_the_window_fails(node: CanKill) -> None:
    with pytest.raises(KeyError, match="window"), kill().inject(On((node,))) as hit:
        raise KeyError("window")
    assert hit.heal_proof is not None
    assert node.knock(Plane.CLIENTS.port) is Knock.ANSWERED


def test_two_of_three_come_back_together(three: Cluster, node: CanKill) -> None:
    other = three.nodes[3]
    assert isinstance(other, CanKill)
    with kill().inject(On((node, other))) as hit:
        assert hit.targets == (2, 3)
        assert set(hit.proof) == {"node-2", "node-3"}
    assert hit.heal_proof is not None
    assert set(hit.heal_proof) == {"node-2", "node-3"}
