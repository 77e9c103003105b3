"""Kafka as processes in namespaces of their own: a whole run, abilities, and that nothing is left, whatever ends it."""

from __future__ import annotations

import json
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from chaoskafka.clock import UNSTOPPABLE, MonotonicClock, wait_until
from chaoskafka.cluster import forming
from chaoskafka.cluster.abilities import Address, CanHostClients, Cluster, Knock
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.ready import wait_formed
from chaoskafka.cluster.security import Protection, User
from chaoskafka.cluster.spec import ClusterSpec, Timeouts
from chaoskafka.cluster.users import let_in
from chaoskafka.cluster.views import Views
from chaoskafka.errors import EnvironmentFailure, ExitCode
from chaoskafka.judge import judge
from chaoskafka.progress import Silent
from chaoskafka.run import RunOptions, run_scenario
from chaoskafka.runtime import PROCESS
from chaoskafka.runtimes.locks import CLUSTER, runs_directory
from chaoskafka.runtimes.process import control
from chaoskafka.runtimes.process.node import ProcessNode
from chaoskafka.runtimes.process.sweep import sweep
from chaoskafka.scenario.load import load_scenario
from chaoskafka.verdict import Answer
from tests.cluster.conftest import is_alive, wait_for_answers

pytestmark = [pytest.mark.docker, pytest.mark.process, pytest.mark.timeout(420)]

SCENARIO = Path(__file__).parents[2] / "scenarios" / "leader-killed-fast.yaml"
SMALL = ClusterSpec(nodes=1, timeouts=Timeouts.FAST)
ENDS_S = 20.0  # of processes whose first one was killed: a fraction of a second

LIVES = """
import sys
from chaoskafka.clock import UNSTOPPABLE
from chaoskafka.runtimes.process import bed
with bed.made(sys.argv[1]) as made:
    print(made.inside.pid, flush=True)
    UNSTOPPABLE.pause(600)
"""
KEEPS = """
import sys
from chaoskafka.clock import UNSTOPPABLE
from chaoskafka.cluster.spec import ClusterSpec, Timeouts
from chaoskafka.runtime import PROCESS
opens = PROCESS.prepare(ClusterSpec(nodes=1, timeouts=Timeouts.FAST), lambda _: None, UNSTOPPABLE)
with opens(run_id=sys.argv[1], clock=UNSTOPPABLE, keep=True) as cluster:
    print(cluster.host_addresses()[1].port, flush=True)
"""
ECHO = (
    "import json, os, socket; print(json.dumps({'peer': socket.create_connection(('node-1', 9092)).getpeername()[0]}))"
)


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A state directory of its own, which is empty in the end."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
    assert list(runs_directory().iterdir()) == []


def run_id() -> str:
    return f"tests-{secrets.token_hex(3)}"


@contextmanager
def opened(spec: ClusterSpec) -> Iterator[Cluster]:
    """A cluster that has formed."""
    opens = PROCESS.prepare(spec, lambda _: None, UNSTOPPABLE)
    with opens(run_id=run_id(), clock=UNSTOPPABLE, keep=False) as cluster:
        views = Views(cluster.host_addresses(), cluster.security(User.OBSERVER))
        let_in(cluster, within_s=180, clock=MonotonicClock())
        forming.wait_formed(cluster, views, within_s=180, clock=MonotonicClock())
        yield cluster


def test_a_killed_leader_costs_nothing(tmp_path: Path) -> None:
    options = RunOptions(seed=7, out=tmp_path, keep=False, timeout_s=None, progress=Silent(), replay="chaoskafka run …")
    outcome = run_scenario(load_scenario(SCENARIO, runtime="process"), options=options, runtime=PROCESS)
    result = judge(outcome.run_dir)
    assert {check.word: check.answer for check in result.checks} == {check.word: Answer.PASS for check in result.checks}
    assert outcome.exit_code is ExitCode.PASS
    header = json.loads((outcome.run_dir / "run.json").read_text())
    assert (header["runtime"], header["clients"]) == ("process", "namespace")


def descendants(pid: int) -> set[int]:
    """`pid` and all processes below it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {pid}.union(*(descendants(int(child)) for child in children))


def test_a_harness_that_is_killed_leaves_no_process_and_heal_removes_its_directory() -> None:
    name = run_id()
    with subprocess.Popen([sys.executable, "-c", LIVES, name], stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        supervisor = int(harness.stdout.readline())
        below = descendants(supervisor)
        assert len(below) >= 3  # unshare, the supervisor, a listener
        assert sweep().removed == {}
        harness.send_signal(signal.SIGKILL)
    wait_until(
        "all that ran inside to end",
        read=lambda: set(filter(is_alive, below)),
        good=lambda left: not left,
        within_s=ENDS_S,
    )
    assert sweep().removed == {name: [str(runs_directory() / f"{name}{CLUSTER}")]}


def test_where_namespaces_are_forbidden_that_is_told_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many of them as may be made: none, by a limit that holds inside of a user namespace of our own."""
    inner = f'echo 0 > /proc/sys/user/max_net_namespaces && exec {" ".join(control.UNSHARE)} "$@"'
    monkeypatch.setattr(control, "UNSHARE", ("unshare", "--user", "--map-root-user", "sh", "-c", inner, "sh"))
    opens = PROCESS.prepare(SMALL, lambda _: None, UNSTOPPABLE)
    with pytest.raises(EnvironmentFailure, match="no namespaces of our own") as failed:
        opens(run_id=run_id(), clock=UNSTOPPABLE, keep=False).__enter__()
    assert "unshare" in failed.value.problem
    assert (failed.value.mend or "").startswith("chaoskafka doctor")


@pytest.mark.nightly
def test_a_cluster_that_was_kept_runs_until_it_is_healed() -> None:
    name = run_id()
    with subprocess.Popen([sys.executable, "-c", KEEPS, name], stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        port = int(harness.stdout.readline())
    assert harness.returncode == 0
    directory = runs_directory() / f"{name}{CLUSTER}"
    supervisor = json.loads((directory / "owner.json").read_text())["pid"]
    assert is_alive(supervisor)
    views = Views({1: Address("127.0.0.1", port)})
    wait_formed(views, SMALL, within_s=180, clock=MonotonicClock())
    assert sweep().removed == {name: ["its processes", str(directory)]}
    assert not is_alive(supervisor)


@pytest.mark.nightly
def test_abilities_of_one_node() -> None:
    with opened(SMALL) as cluster:
        node = cluster.nodes[1]
        assert isinstance(node, ProcessNode)
        before = node.state()
        assert (before.running, before.exit_code, before.frozen) == (True, None, False)
        assert node.start(within_s=10).means == "it was running"
        node.pause()
        assert node.state() == replace(before, frozen=True)
        assert node.knock(Plane.REPLICATION.port, speak=True) is Knock.MUTE
        node.resume()
        node.resume()
        assert node.knock(Plane.REPLICATION.port, speak=True, within_s=30, until=Knock.ANSWERED) is Knock.ANSWERED
        node.terminate()
        after = node.start(within_s=60)  # waits for the old one to end
        assert after.means.startswith("process ")
        assert node.state().started_at != before.started_at
        assert isinstance(cluster, CanHostClients)
        client = cluster.launch("asker", ["python", "-c", ECHO])
        wait_for_answers(cluster)
        assert client.wait(within_s=30).code is not None
        again = cluster.launch("again", ["python", "-c", ECHO])
        assert again.wait(within_s=30).code == 0
        assert again.latest() == {"peer": node.address}
        assert client.address != again.address
        node.pause()
        assert cluster.stop_kafka() == ()  # a frozen one is let run on, or it would not hear
        assert node.state().exit_code == 143
        assert "shut down completely" in node.tail(50)


@pytest.mark.nightly
def test_a_node_that_refuses_its_settings_is_told_while_the_cluster_forms() -> None:
    spec = replace(SMALL, config={"log.retention.ms": "nonsense"})
    with pytest.raises(EnvironmentFailure, match="Invalid value nonsense"), opened(spec):
        pytest.fail("it formed")


@pytest.mark.nightly
@pytest.mark.parametrize("protection", [Protection.TLS, Protection.SASL_SCRAM])
def test_a_protected_isolated_cluster_forms(protection: Protection) -> None:
    spec = ClusterSpec(controllers=1, brokers=2, timeouts=Timeouts.FAST, security=protection)
    with opened(spec) as cluster:
        assert set(cluster.host_addresses()) == {1, 2}
        assert set(cluster.controller_addresses()) == {101}
