"""An engine elsewhere: at a TCP address that is not 127.0.0.1, and by a docker context."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskafka.cluster.abilities import CanHostClients, CanKill, Cluster
from chaoskafka.cluster.spec import ClusterSpec, Timeouts
from chaoskafka.cluster.targets import Target
from chaoskafka.faults.kill import Kill
from chaoskafka.images import open_engine
from chaoskafka.runtimes.docker.engine import Engine, connect
from chaoskafka.runtimes.docker.open import Images, open_cluster
from chaoskafka.runtimes.docker.sweep import sweep
from tests.cluster.conftest import On, objects_of, unix_socket, wait_for_answers
from tests.cluster.relay import ADDRESS, engine_at_tcp

pytestmark = pytest.mark.docker

RUN_ID = f"test-remote-{os.getpid()}"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with engine_at_tcp(unix_socket()) as docker_host:
        yield docker_host


@pytest.fixture(scope="module")
def cluster(address: str, images: Images, engine: Engine) -> Iterator[Cluster]:
    """One node of an engine that is not known to be on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", address)
        with open_cluster(ClusterSpec(nodes=1, timeouts=Timeouts.FAST), run_id=RUN_ID, images=images) as opened:
            wait_for_answers(opened)
            yield opened
    assert objects_of(engine, RUN_ID) == []


def test_ports_are_published_where_the_engine_is(cluster: Cluster) -> None:
    broker = cluster.host_addresses()[1]
    assert broker.host == ADDRESS
    with socket.create_connection((broker.host, broker.port), timeout=10):
        pass


def test_nothing_is_mounted_from_this_machine(cluster: Cluster, engine: Engine) -> None:
    assert isinstance(cluster, CanHostClients)
    cluster.launch("onlooker", ["sleep", "1000"])
    names = [name for name in objects_of(engine, RUN_ID) if not name.endswith(("-data", "-net"))]
    assert {name.rpartition("-")[2] for name in names} >= {"host", "kafka", "onlooker"}
    ours = [engine.api.api.inspect_container(name) for name in names]
    assert {mount["Type"] for each in ours for mount in each["Mounts"]} == {"volume"}


def test_a_kill_goes_through_the_engine(cluster: Cluster) -> None:
    node = cluster.nodes[1]
    assert isinstance(node, CanKill)
    with Kill(target=Target.parse("broker 1")).inject(On((node,))) as hit:
        seen = hit.proof["node-1"]
        assert isinstance(seen, dict)
        assert seen["means"].startswith("engine API (pid ")
        assert ADDRESS in seen["means"]
        assert (seen["knock"], seen["exit_code"]) == ("refused", 137)
    assert hit.heal_proof is not None


def test_sources_and_files_go_through_the_engine(cluster: Cluster, tmp_path: Path) -> None:
    assert isinstance(cluster, CanHostClients)
    code = "import chaoskafka.clock as c; open('clock', 'w').write(c.clock_id()); print('{}', flush=True)"
    client = cluster.launch("writer", ["python", "-c", code])
    assert client.wait(within_s=60).code == 0
    client.collect(tmp_path)
    assert (tmp_path / "clock").read_text().startswith("CLOCK_MONOTONIC:")


def test_a_living_run_is_spared_through_any_way_to_the_engine(
    cluster: Cluster, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for docker_host in (address, f"unix://{unix_socket()}"):
        monkeypatch.setenv("DOCKER_HOST", docker_host)
        alone = {each.run_id: each.why for each in sweep().left_alone}
        assert alone[RUN_ID] == f"its harness lives: process {os.getpid()}"


def test_the_current_context_names_the_engine(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `docker context use elsewhere` leaves it. Images are looked for in the same engine."""
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "elsewhere"}))
    meta = tmp_path / "contexts" / "meta" / hashlib.sha256(b"elsewhere").hexdigest() / "meta.json"
    meta.parent.mkdir(parents=True)
    endpoints = {"docker": {"Host": address, "SkipTLSVerify": False}}
    meta.write_text(json.dumps({"Name": "elsewhere", "Metadata": {}, "Endpoints": endpoints}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", "")
    with connect() as engine:
        assert engine.host == ADDRESS
    monkeypatch.setenv("DOCKER_HOST", "")
    ours = open_engine()
    try:
        assert ADDRESS in ours.api.base_url
    finally:
        ours.close()


@pytest.mark.nightly
@pytest.mark.timeout(420)
def test_a_whole_run(address: str, images: Images, tmp_path: Path) -> None:
    """On one machine, so with one clock: everything can be answered."""
    scenario = Path(__file__).parents[2] / "scenarios" / "leader-killed-fast.yaml"
    command = [sys.executable, "-m", "chaoskafka", "run", str(scenario), "--out", str(tmp_path)]
    done = subprocess.run(
        command, env={**os.environ, "DOCKER_HOST": address}, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
