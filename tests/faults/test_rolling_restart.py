"""Rolling restart over nodes in memory: the order, the gate, and who is started when it breaks off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaoskafka.clock import NS_PER_S
from chaoskafka.cluster import ready
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.errors import FaultFailed, WaitTimeout
from chaoskafka.faults import has_window
from chaoskafka.faults.rolling_restart import RollingRestart
from tests.faults.stand import Stand
from tests.memory_cluster import MemoryCluster, MemoryNode


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "EVERY_S", 0.01)


def names(proof: object) -> list[str]:
    return list(proof["nodes"])  # type: ignore[index]


def rolling(**fields: object) -> RollingRestart:
    return RollingRestart(**{"grace_s": 0.05, "settle_s": 0.05, "heal_s": 0.05, "gate_s": 0.05, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["grace_s", "settle_s", "heal_s", "gate_s", "every_s"])
def test_lengths_are_no_less_than_nothing(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        rolling(**{name: -1})


def test_every_node_is_restarted_once_the_active_controller_last() -> None:
    assert not has_window(rolling())
    stand = Stand()
    stand.cluster.controller = 1
    with stand.inject(rolling()) as hit:
        assert names(hit.proof) == ["node-2", "node-3", "node-1"]
        assert hit.targets == (1, 2, 3)
        assert stand.starts == [2, 2, 2]
        node = hit.proof["nodes"]["node-3"]  # type: ignore[index]
        assert node["stop"]["exit_code"] == 143
        assert node["under_replicated_before"] == 0
    assert hit.heal_proof is not None
    assert set(hit.heal_proof) == {"node-1", "node-2", "node-3"}
    assert stand.cluster.times("kill") == 0


def test_brokers_come_before_dedicated_controllers() -> None:
    stand = Stand(spec=ClusterSpec(brokers=2, controllers=3))
    stand.cluster.controller = 102
    with stand.inject(rolling()) as hit:
        assert hit.targets == (1, 2, 101, 102, 103)
    assert [node.removeprefix("broker-").removeprefix("controller-") for node in names(hit.proof)] == [
        node.spec.name.removeprefix("broker-").removeprefix("controller-")
        for node in (stand.cluster.nodes[each] for each in (1, 2, 101, 103, 102))
    ]


def test_the_gate_stays_shut_while_one_is_fenced_and_nobody_is_left_down() -> None:
    stand = Stand()
    stand.cluster.fenced = {1}
    with pytest.raises(WaitTimeout, match="fenced"), stand.inject(rolling()):
        pytest.fail("it was entered")
    assert stand.starts == [2, 1, 1]
    assert stand.running == [1, 2, 3]


def test_by_time_nobody_asks_whether_all_are_back() -> None:
    stand = Stand()
    stand.cluster.fenced = {1}
    with stand.inject(rolling(gate="time", every_s=7)):
        assert stand.clock.now_ns() == 2 * 7 * NS_PER_S


def test_one_that_does_not_stop_ends_it_and_all_run() -> None:
    def trouble() -> Iterator[None]:
        yield
        raise FaultFailed("no such process")

    left = trouble()

    def second(_: MemoryCluster) -> None:
        next(left)

    stand = Stand({"terminate node": second})
    with pytest.raises(FaultFailed, match="no such process"), stand.inject(rolling()):
        pytest.fail("it was entered")
    assert stand.running == [1, 2, 3]
    assert stand.starts == [2, 1, 1]


class Gone(MemoryNode):
    """Its new process is seen, and is gone when it is looked at again."""

    def knock(self, port: int, **_: object):  # type: ignore[no-untyped-def,override]
        self.running = self.running and self.starts == 1
        return super().knock(port)


def test_one_that_does_not_come_back_ends_it() -> None:
    stand = Stand()
    stand.become(1, Gone)
    with pytest.raises(WaitTimeout, match="node-1 to answer again"), stand.inject(rolling()):
        pytest.fail("it was entered")
    assert stand.running == [1, 2, 3]
