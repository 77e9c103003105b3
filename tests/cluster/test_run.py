"""Whole runs on a real cluster: what passes, what must fail, what stays unknown, and that nothing is left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from chaoskafka import run
from chaoskafka.cluster.abilities import (
    CanHostClients,
    CanKill,
    CanPartition,
    CanPause,
    CanPowerOff,
    CanStart,
    CanStop,
    Deed,
)
from chaoskafka.errors import ExitCode
from chaoskafka.history.events import read_events
from chaoskafka.judge import judge
from chaoskafka.phases import Phase
from chaoskafka.progress import Silent
from chaoskafka.report.result import Result
from chaoskafka.run import RunOptions, RunOutcome, run_scenario
from chaoskafka.runtimes import ABILITIES
from chaoskafka.runtimes.docker.clients import Clients
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.labels import RUN
from chaoskafka.runtimes.docker.node import DockerNode
from chaoskafka.scenario.load import load_scenario
from chaoskafka.scenario.model import Scenario
from chaoskafka.verdict import Answer
from tests.cluster.conftest import CHEAPER

pytestmark = [pytest.mark.docker, pytest.mark.timeout(420)]

SCENARIO = Path(__file__).parents[2] / "scenarios" / "leader-killed-fast.yaml"
VICTIM = "leader of orders/0, not active controller"


def play(scenario: Scenario, out: Path) -> RunOutcome:
    options = RunOptions(seed=7, out=out, keep=False, timeout_s=None, progress=Silent(), replay="chaoskafka run …")
    return run_scenario(scenario, options=options)


def answers(result: Result) -> dict[str, Answer]:
    return {check.word: check.answer for check in result.checks}


def ours(engine: Engine) -> set[str]:
    """Whatever in the engine carries our label, but for the clusters that other tests of this session share."""
    filters = {"label": RUN}
    api = engine.api
    containers = api.containers.list(all=True, filters=filters)
    found = [*containers, *api.networks.list(filters=filters), *api.volumes.list(filters=filters)]
    return {str(thing.id) for thing in found}


@pytest.fixture(autouse=True)
def nothing_left(engine: Engine) -> Iterator[None]:
    before = ours(engine)
    yield
    assert ours(engine) - before == set()


def test_a_killed_leader_costs_nothing_and_is_judged_again_without_its_result(images: object, tmp_path: Path) -> None:
    outcome = play(load_scenario(SCENARIO), tmp_path)
    result = judge(outcome.run_dir)
    assert answers(result) == {check.word: Answer.PASS for check in result.checks}
    assert outcome.exit_code is ExitCode.PASS

    ended = [
        e.fields["number"] for e in read_events(outcome.run_dir / "events.jsonl") if e.fields.get("state") == "end"
    ]
    assert ended == [int(phase) for phase in Phase]
    (fault,) = result.faults
    moved = [p for p in fault.partitions if p.new_leader is not None]
    assert any((p.topic, p.partition) == ("orders", 0) for p in moved)
    for partition in moved:
        assert partition.old_leader in fault.targets
        assert {sight.broker for sight in partition.seen_by} == {1, 2, 3} - set(fault.targets)
        assert partition.first_ack
        assert partition.first_read
        assert partition.in_sync is not None
    (outcome.run_dir / "result.json").unlink()
    assert judge(outcome.run_dir) == result


def kill_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    def pretend(node: DockerNode) -> Deed:
        return Deed(what=f"SIGKILL to {node.spec.name}", means="a lie", acted_ns=time.monotonic_ns())

    monkeypatch.setattr(DockerNode, "kill", pretend)


def start_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the fault and to the restoration. What never comes need not be waited for."""

    def pretend(node: DockerNode, *, within_s: float) -> Deed:
        return Deed(what=f"start of {node.spec.name}", means="a lie", acted_ns=time.monotonic_ns())

    monkeypatch.setattr(DockerNode, "start", pretend)
    monkeypatch.setattr(run, "recovery_limit_s", lambda *_: 5.0)


LIAR = """
import json, signal, sys, time
told = json.loads(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
places = [f"{told['topic']}/{number}" for number in range(told["partitions"])]
while True:
    now_ns = time.monotonic_ns()
    print(json.dumps({
        "at_ns": now_ns, "offered": 9, "acknowledged": 9, "acked_per_partition": dict.fromkeys(places, 9),
        "last_ack_ns": dict.fromkeys(places, now_ns), "read": 9, "positions": dict.fromkeys(places, 9),
    }), flush=True)
    time.sleep(0.2)
"""


def client_host_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its workers say that load flows, and never send or read."""
    launch = Clients.launch

    def pretend(clients: Clients, name: str, argv: Sequence[str], env: Mapping[str, str], package: object) -> object:
        return launch(clients, name, argv if name == "observer" else ["python", "-c", LIAR, argv[-1]], env)

    monkeypatch.setattr(Clients, "launch", pretend)


def does_nothing(act: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A lie: that act of a node does nothing, and reports success."""

    def lie(monkeypatch: pytest.MonkeyPatch) -> None:
        def pretend(node: DockerNode, *_: object) -> Deed:
            return Deed(what=f"{act} of {node.spec.name}", means="a lie", acted_ns=time.monotonic_ns())

        monkeypatch.setattr(DockerNode, act, pretend)

    return lie


def instead(fault: str) -> list[str]:
    """The setting that plays another fault in the place of the kill."""
    return [f"plan[0]={{after_s: 1, {fault}: {{target: leader of orders/0, for_s: 4, settle_s: 2}}}}"]


# Each ability that the runtime has: how it lies, settings that make waiting for what never comes short, who notices.
LIES: dict[type, tuple[Callable[[pytest.MonkeyPatch], None], list[str], str]] = {
    CanKill: (kill_lies, ["plan[0].kill.settle_s=2"], "took_effect"),
    CanStart: (start_lies, ["plan[0].kill.heal_s=2"], "took_effect"),
    CanHostClients: (client_host_lies, [], "no_lost_acknowledged"),
    CanStop: (does_nothing("terminate"), instead("stop"), "took_effect"),
    CanPause: (does_nothing("pause"), instead("pause"), "took_effect"),
    CanPowerOff: (does_nothing("power_off"), instead("power_off"), "took_effect"),
    CanPartition: (does_nothing("run_rules"), instead("isolate"), "took_effect"),
}
OFTEN = {CanKill, CanStart, CanHostClients}  # the others at night; the conformance suite has them lie too


@pytest.mark.parametrize(
    ("lie", "settings", "noticed_by"),
    [
        pytest.param(*lie, id=ability.__name__, marks=[] if ability in OFTEN else pytest.mark.nightly)
        for ability, lie in LIES.items()
    ],
)
def test_an_ability_that_lies_is_unknown(
    lie: Callable[[pytest.MonkeyPatch], None],
    settings: list[str],
    noticed_by: str,
    images: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It does nothing and reports success."""
    lie(monkeypatch)
    outcome = play(load_scenario(SCENARIO, settings=[*CHEAPER, *settings]), tmp_path)
    found = answers(judge(outcome.run_dir))
    assert found[noticed_by] is Answer.UNKNOWN
    assert outcome.exit_code is ExitCode.UNKNOWN


def test_every_ability_of_the_runtime_is_made_to_lie() -> None:
    assert set(LIES) == set(ABILITIES["docker"])


def test_acks_1_over_a_frozen_leader_loses_and_fails_with_the_count(images: object, tmp_path: Path) -> None:
    """The negative control: what the frozen leader's sockets held is acknowledged after the thaw, then truncated.

    After the thaw the old leader answers for some 0.1 s, one request after the other, until it has learned that it was
    deposed; so that this is not a matter of luck, each request holds many messages.
    """
    settings = [
        "workloads[0].produce.acks=1",
        "workloads[0].produce.rate_per_s=600",
        "workloads[0].produce.client={linger.ms: 250}",
        f"plan[0]={{after_s: 3, pause: {{target: '{VICTIM}', for_s: 12}}}}",
    ]
    outcome = play(load_scenario(SCENARIO, settings=settings), tmp_path)
    result = judge(outcome.run_dir)
    lost = next(check for check in result.checks if check.word == "no_lost_acknowledged")
    assert lost.answer is Answer.FAIL
    assert lost.found >= 10
    assert len(lost.evidence) > 0
    assert outcome.exit_code is ExitCode.FAIL
