"""Stop on a real cluster: Kafka hands over and ends by itself; what a short grace makes of it is called by its name."""

from collections.abc import Iterator

import pytest

from chaoskafka.cluster.abilities import Cluster, Knock
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed
from chaoskafka.faults.ending import AfterGrace, CanEnd
from chaoskafka.faults.stop import Stop
from tests.cluster.conftest import On

pytestmark = [pytest.mark.docker, pytest.mark.nightly]


@pytest.fixture
def node(three: Cluster) -> Iterator[CanEnd]:
    found = three.nodes[2]
    assert isinstance(found, CanEnd)
    yield found
    assert found.state().running


def stop(grace_s: float = 60, after_grace: AfterGrace = "fail") -> Stop:
    return Stop(target=Target.parse("broker 2"), grace_s=grace_s, after_grace=after_grace)


def test_it_hands_over_and_ends_by_itself(three: Cluster, node: CanEnd) -> None:
    before = node.state()
    with stop().inject(On((node,), three)) as hit:
        seen = hit.proof["node-2"]
        assert isinstance(seen, dict)
        assert (seen["knock"], seen["exit_code"], seen["clean"]) == ("refused", 143, True)
        assert "pid" in seen["means"]
        assert set(seen["fenced_by"]) == {1, 3}, "the controllers let it go before it ended"
        assert node.knock(Plane.CLIENTS.port) is Knock.REFUSED
    assert hit.heal_proof is not None
    assert node.state().started_at != before.started_at


def test_a_grace_that_is_too_short_makes_it_a_kill(three: Cluster, node: CanEnd) -> None:
    with pytest.raises(FaultFailed, match="no stop"), stop(grace_s=0.01).inject(On((node,), three)):
        pytest.fail("it was taken for a stop")
    assert node.state().running
    with stop(grace_s=0.01, after_grace="kill").inject(On((node,), three)) as hit:
        seen = hit.proof["node-2"]
        assert isinstance(seen, dict)
        assert (seen["exit_code"], seen["clean"]) == (137, False)
