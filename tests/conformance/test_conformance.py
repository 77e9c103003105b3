"""What a runtime declares, it can do: every fault is seen to bite and to heal on it, and a lie is seen through.

One suite for all of them. A runtime plays the part that its abilities imply (`runtimes.ABILITIES`); an ability that it
declares and does not have is a red test. Each fault proves itself, by another path than the one that injects, so most
of what is asserted here is that entering and leaving it raises nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import (
    CanHostClients,
    CanKill,
    CanPartition,
    CanPause,
    CanPowerOff,
    Deed,
    HasLog,
    Knock,
)
from chaoskafka.cluster.netrules import Action, Cut, Way, cut_batch, tables
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import CommandFailed, FaultFailed
from chaoskafka.faults.crash_loop import CrashLoop
from chaoskafka.faults.cut_clients import CutClients
from chaoskafka.faults.isolate import Isolate
from chaoskafka.faults.kill import Kill
from chaoskafka.faults.partition import Partition, Shape
from chaoskafka.faults.pause import Pause
from chaoskafka.faults.power_off import PowerOff
from chaoskafka.faults.restart import Restart
from chaoskafka.faults.rolling_restart import RollingRestart
from chaoskafka.faults.stop import Stop
from tests.conformance.conftest import Bench, Plays

TWO = Target.parse("broker 2")
RING = Shape.MAJORITIES_RING  # of three nodes it parts nobody from anybody

FAULTS: dict[str, Plays] = {
    "kill": Kill(target=TWO),
    "kill of all": Kill(target=Target.parse("all")),
    "stop": Stop(target=TWO),
    "restart": Restart(target=TWO),
    "crash_loop": CrashLoop(target=TWO, times=2, up_s=0.5),
    "rolling_restart": RollingRestart(),
    "pause": Pause(target=TWO),
    "power_off": PowerOff(target=TWO),
    **{f"isolate, {action}": Isolate(target=TWO, action=action) for action in Action},
    **{f"isolate, {way}": Isolate(target=TWO, ways=way) for way in (Way.IN, Way.OUT)},
    "isolate, connections reset": Isolate(target=TWO, reset_connections=True),
    **{f"cut_clients, {action}": CutClients(target=TWO, action=action) for action in Action},
    **{f"cut_clients, {way}": CutClients(target=TWO, ways=way) for way in (Way.IN, Way.OUT)},
    **{f"partition, {shape}": Partition(target=TWO, shape=shape) for shape in Shape if shape is not RING},
    **{f"partition, {plane}": Partition(target=TWO, planes=(plane,)) for plane in ("controllers", "replication")},
    "partition, reject": Partition(target=TWO, action=Action.REJECT),
    "partition, in": Partition(target=TWO, ways=Way.IN),
    "partition from one": Partition(target=TWO, against=Target.parse("broker 3")),
}


def needs(*abilities: type) -> pytest.MarkDecorator:
    """`pytest.mark.needs(CanKill)` alone would take the class for a test to mark."""
    return pytest.mark.needs.with_args(*abilities)


def needing(what: object, fault: Any, *more: object) -> Any:
    """A case of whoever declares what `fault` needs."""
    return pytest.param(what, *more, marks=needs(*fault.needs))


@pytest.mark.parametrize("word", [needing(word, fault) for word, fault in FAULTS.items()])
def test_a_fault_is_seen_to_bite_and_to_heal(bench: Bench, word: str) -> None:
    with bench.play(FAULTS[word]) as hit:
        assert set(hit.targets) <= set(bench.cluster.nodes)
        assert hit.proof
        assert hit.acted_ns <= time.monotonic_ns()
    assert hit.heal_proof
    bench.see_whole()


@pytest.mark.parametrize(
    ("fault", "code"), [needing(Kill(target=TWO), Kill, 137), needing(Stop(target=TWO), Stop, 143)]
)
def test_how_a_process_ended_and_that_a_new_one_runs(bench: Bench, fault: Plays, code: int) -> None:
    before = bench.node(2).state()
    assert (before.running, before.exit_code, before.frozen) == (True, None, False)
    with bench.play(fault):
        during = bench.node(2).state()
        assert (during.running, during.exit_code, during.started_at) == (False, code, before.started_at)
    after = bench.node(2).state()
    assert after.running
    assert after.started_at != before.started_at
    bench.node(2).start(within_s=10)
    assert bench.node(2).state() == after  # idempotent


@needs(CanKill)
def test_what_lasts_over_a_death(bench: Bench) -> None:
    address = bench.node(2).address
    reached = bench.cluster.host_addresses()
    with bench.play(Kill(target=TWO)):
        assert bench.node(2).address == address
    assert bench.node(2).address == address
    assert bench.cluster.host_addresses() == reached
    if isinstance(bench.node(2), HasLog):
        assert bench.node(2).tail(1)


@needs(CanPause)
def test_a_frozen_process_takes_connections_and_does_not_answer(bench: Bench) -> None:
    before = bench.node(2).state()
    with bench.play(Pause(target=TWO)):
        assert bench.node(2).state().frozen
        assert bench.node(2).knock(Plane.REPLICATION.port, speak=True) is Knock.MUTE
        assert bench.node(2).knock(Plane.REPLICATION.port) is Knock.ANSWERED
    bench.node(2).resume()
    assert bench.node(2).state() == before


@needs(CanPartition)
def test_rules_of_two_faults_on_one_node_do_not_know_of_each_other(bench: Bench) -> None:
    outer = bench.play(CutClients(target=TWO))
    with outer as first, bench.play(Partition(target=TWO)) as second:
        assert len(tables(bench.node(2).rules())) == 2
    assert first.heal_proof
    assert second.heal_proof
    bench.see_whole()


@needs(CanPartition)
def test_one_is_lifted_under_the_other(bench: Bench) -> None:
    """The fault that began first ends first."""
    first, second = bench.play(CutClients(target=TWO)), bench.play(Partition(target=TWO))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert len(tables(bench.node(2).rules())) == 1
    second.__exit__(None, None, None)
    assert bench.node(2).rules() == ""


@needs(CanKill, CanPause)
def test_a_frozen_process_that_dies_in_the_middle_is_told(bench: Bench) -> None:
    with pytest.raises(FaultFailed), bench.play(Pause(target=TWO, heal_s=bench.patience_s)):
        bench.node(2).kill()
    state = bench.node(2).state()
    assert (state.running, state.frozen, state.exit_code) == (False, False, 137)


@needs(CanKill, CanPartition)
def test_rules_of_a_node_that_dies_in_the_middle_are_lifted_and_its_death_is_told(bench: Bench) -> None:
    with bench.play(Isolate(target=TWO)) as hit:
        bench.node(2).kill()
        wait_until("node-2 to end", read=bench.node(2).state, good=lambda state: not state.running, within_s=10)
    assert bench.node(2).rules() == ""
    healed: Any = hit.heal_proof
    assert healed["node-2"]["other_faults"]


@needs(CanKill, CanPause, CanPartition, CanPowerOff)
def test_restoring_takes_back_all_at_once_and_twice_does_no_harm(bench: Bench) -> None:
    bench.node(1).run_rules(cut_batch("chaoskafka_77", Cut()))
    bench.node(1).pause()
    bench.node(2).power_off()
    bench.node(3).kill()
    bench.cluster.restore()
    bench.cluster.restore()
    assert not bench.node(1).state().frozen
    bench.see_whole()


@needs(CanPartition)
def test_half_a_batch_of_rules_is_none(bench: Bench) -> None:
    batch = cut_batch("chaoskafka_78", Cut())
    with pytest.raises(CommandFailed):
        bench.node(2).run_rules(batch + batch)  # the second half finds the table of the first
    assert bench.node(2).rules() == ""


def nothing(*_: Any, **__: Any) -> Deed:
    """What a liar does, and what it says."""
    return Deed(what="a deed", means="a lie", acted_ns=time.monotonic_ns())


LIES: dict[str, tuple[str, Callable[..., Plays]]] = {  # the deed that is not done, and the fault that does it
    "kill": ("kill", Kill),
    "terminate": ("terminate", Stop),
    "pause": ("pause", Pause),
    "power_off": ("power_off", PowerOff),
    **{f"run_rules, {kind.__name__}": ("run_rules", kind) for kind in (Isolate, CutClients, Partition)},
}
HEALS: dict[str, tuple[str, Callable[..., Plays]]] = {  # the same for what takes it back
    "start": ("start", Kill),
    "start after a stop": ("start", Stop),
    "resume": ("resume", Pause),
    "power_on": ("power_on", PowerOff),
    "run_rules": ("run_rules", Isolate),
}


def hurried(bench: Bench, kind: Callable[..., Plays], *, settle: bool) -> Plays:
    """A fault that gives up soon on what will not be seen: the bite, or the healing."""
    words: dict[str, float] = {"settle_s" if settle else "heal_s": bench.patience_s}
    if kind is Stop and settle:
        words["grace_s"] = bench.patience_s
    return kind(target=TWO, **words)


@pytest.mark.parametrize("lie", [needing(lie, kind) for lie, (_, kind) in LIES.items()])
def test_a_deed_that_is_not_done_is_not_seen_to_bite(bench: Bench, lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deed, kind = LIES[lie]
    fault = hurried(bench, kind, settle=True)
    monkeypatch.setattr(type(bench.node(2)), deed, nothing)
    with pytest.raises(FaultFailed), bench.play(fault):
        pytest.fail("it was taken for done")


@pytest.mark.parametrize("lie", [needing(lie, kind) for lie, (_, kind) in HEALS.items()])
def test_a_healing_that_is_not_done_is_not_seen(bench: Bench, lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deed, kind = HEALS[lie]
    fault = hurried(bench, kind, settle=False)
    entered = bench.play(fault)
    entered.__enter__()
    monkeypatch.setattr(type(bench.node(2)), deed, nothing)
    with pytest.raises(FaultFailed):
        entered.__exit__(None, None, None)


@needs(CanHostClients)
def test_a_client_stands_in_a_place_of_its_own(bench: Bench, tmp_path: Path) -> None:
    if not bench.is_real:
        pytest.skip("the fake runs no commands: its own programs are played by whole rehearsals")
    cluster = bench.cluster
    assert isinstance(cluster, CanHostClients)
    at = cluster.client_addresses()[2]
    code = (
        "import json, os, pathlib, socket; pathlib.Path(os.environ['CHAOSKAFKA_DIR'], 'left').write_text('here');"
        f" name = socket.create_connection(({at.host!r}, {at.port})).getsockname()[0];"
        " print(json.dumps({'own': name}))"
    )
    client = cluster.launch(f"client-{bench.played}", ["python", "-c", code])
    assert client.wait(within_s=60).code == 0
    assert client.latest() == {"own": client.address or "127.0.0.1"}  # on a loopback that all share
    client.collect(tmp_path / "files")
    assert (tmp_path / "files" / "left").read_text() == "here"
    asleep = cluster.launch(f"asleep-{bench.played}", ["python", "-c", "import time; time.sleep(600)"])
    asleep.kill()
    assert asleep.wait(within_s=60).signal == 9
